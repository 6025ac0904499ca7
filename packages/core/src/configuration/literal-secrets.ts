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

/** Finds the secrets of calls, which a workflow can only have in plain text. Expressions are not looked into. */
function lookInWorkflow(value: unknown, path: string, found: ErrorIssue[], isPart = false): void {
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    if (typeof item !== 'string') lookInWorkflow(item, at, found, key === 'headers' || key === 'query');
    else if (item.includes('${')) continue;
    else if (isLiteralSecret(key, item) || (isPart && secretPart.test(key)) || secretQuery.test(item))
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
