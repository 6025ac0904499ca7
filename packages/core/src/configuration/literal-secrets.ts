import type { ErrorIssue } from '@belay/contract/errors';

/** Matches the names of keys whose values are secrets. */
const secretKey =
  /(?:^|_)(?:secret|secret_id|password|passphrase|token|api_key|private_key|secret_access_key|secret_key|credentials)$/i;
const reference = /\$\{(?:env|vault):[^}]+\}/;
/** Matches a password within a URL. */
const password = /^[a-z][a-z\d+.-]*:\/\/[^\s/@:]*:([^\s/@]+)@/i;

/**
 * Returns the secrets that are written in plain text instead of a reference: by the names of their keys, and passwords
 * within URLs. For a warning only, so that people can experiment.
 */
export function findLiteralSecrets(document: unknown): ErrorIssue[] {
  if (document === null || typeof document !== 'object') return [];
  const { providers, services, workflows } = document as { [section: string]: unknown };
  const found: ErrorIssue[] = [];
  look(services, 'services', found);
  for (const [id, provider] of Object.entries((providers ?? {}) as object)) {
    look((provider as { config?: unknown } | null)?.config, `providers.${id}.config`, found);
  }
  lookInWorkflow(workflows, 'workflows', found);
  return found;
}

/** Matches the names of headers and of parts of a query whose values are secrets. */
const secretPart =
  /^(?:proxy-)?authorization$|cookie$|(?:^|[-_])(?:api-?key|key|token|secret|password|signature|sig)$/i;
/** Matches an address with a secret in its query. */
const secretQuery = /[?&](?:[\w-]*[-_])?(?:api-?key|key|token|secret|password|signature|sig)=[^&\s]/i;

/** Matches the ends of hosts at which every address is a secret, because who knows it can post to it. */
const webhookHosts =
  /(?:^|[/@.])(?:hooks\.slack\.com|webhook\.office\.com|logic\.azure\.com|api\.powerplatform\.com|hooks\.zapier\.com|maker\.ifttt\.com|chat\.googleapis\.com)(?::\d+)?$/i;
/** Matches a word of a path, such as `tickets`, `listUsers` or `v2`: few letters, then few digits. */
const word = /^(?:[a-z]{0,20}|[A-Z]{0,20}|(?=.{0,30}$)[A-Z]?[a-z]{1,20}(?:[A-Z][a-z]{1,20}){0,4})\d{0,6}$/;
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Returns whether every address at a host is that of a webhook, with its secret in the path. */
export function isWebhookHost(host: string): boolean {
  return webhookHosts.test(host);
}

/**
 * Returns whether a part of the path of an address consists of words, versions, small numbers and variables (`{id}`), so
 * that it is no secret. In doubt, such as for a UUID, it may be one.
 */
export function isPlain(part: string): boolean {
  return part
    .replace(/\{[\w.-]+\}/g, '')
    .split(/[-_.~:;,=+!]/)
    .every((one) => word.test(one));
}

/** Returns whether an address has a part of its path that is most likely a secret: long, and neither words nor a UUID. */
function hasSecretPath(text: string): boolean {
  const found = /^[a-z][a-z\d+.-]*:\/\/([^\s/?#]*)(\/[^\s?#]*)/i.exec(text);
  if (!found) return false;
  const [, host = '', path = ''] = found;
  return isWebhookHost(host) || path.split('/').some((part) => part.length >= 20 && !isPlain(part) && !uuid.test(part));
}

/** Finds the secrets of calls, which a workflow can only have in plain text. Expressions are not looked into. */
function lookInWorkflow(value: unknown, path: string, found: ErrorIssue[], isPart = false): void {
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    if (typeof item !== 'string') lookInWorkflow(item, at, found, key === 'headers' || key === 'query');
    else if (item.includes('${')) continue;
    else if (
      isLiteralSecret(key, item) ||
      (isPart && secretPart.test(key)) ||
      secretQuery.test(item) ||
      hasSecretPath(item)
    )
      found.push({
        path: at,
        message:
          'is a secret in plain text, which all readers of the configuration and of the database can read; give it few rights and replace it often',
      });
  }
}

function look(value: unknown, path: string, found: ErrorIssue[]): void {
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    if (typeof item !== 'string') look(item, at, found);
    else if (isLiteralSecret(key, item)) {
      found.push({ path: at, message: 'is a secret in plain text; use ${env:NAME} or ${vault:path#key}' });
    }
  }
}

export function isLiteralSecret(key: string, text: string): boolean {
  if (text === '' || reference.test(text)) return false;
  return secretKey.test(key) || password.test(text);
}
