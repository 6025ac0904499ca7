import type { ConfigurationChange } from '@belay/contract/admin';
import { canonicalJson } from '@belay/contract/canonical';
import { pathText } from '@belay/contract/errors';
import { carriesCredentials, hasCredentialInAddress } from './credentials.js';
import { isLiteralSecret } from './literal-secrets.js';

type Path = readonly (string | number)[];

/** The longest value that is shown, in characters. */
const longest = 500;

/**
 * Keys of settings of providers, services and event sources whose texts are shown. All other texts there, except
 * references, are hidden: a secret may stand under any key.
 */
const shown = new Set(
  (
    'account account_id base_dn base_url bucket client_id cluster database domain email_claim from groups_claim host ' +
    'hostname identity instance issuer mode model namespace organization organization_id project project_id provider ' +
    'realm region scopes subject_claim tenant tenant_id type url user user_dn username'
  ).split(' '),
);
/** Keys of addresses. An address with a path is hidden, because a person who knows the path of a webhook can post to it. */
const addresses = new Set(['base_url', 'url']);
const withoutPath = /^[a-z][a-z\d+.-]*:\/\/[^/?#@]*\/?$/i;
/** Matches a text that consists of one reference: it names a secret and does not contain it. */
const onlyReference = /^\$\{(?:env|vault):[^}]+\}$/;

/**
 * Yields the differences between two versions of one entry of a configuration, key by key. `undefined` stands for a missing entry. Values
 * that may be secret are left out.
 */
export function* compareEntries(before: unknown, after: unknown, path: Path): Generator<ConfigurationChange> {
  if (isSame(before, after)) return;
  const keys = keysOf(before, after);
  if (keys === undefined) {
    yield describe(before, after, path);
    return;
  }
  for (const key of keys) yield* compareEntries(at(before, key), at(after, key), [...path, key]);
}

/**
 * Returns the keys of two mappings, or the positions in two lists of nested values; undefined for values that are
 * compared as a whole.
 */
function keysOf(before: unknown, after: unknown): (string | number)[] | undefined {
  const given = [before, after].filter((value) => value !== undefined);
  if (given.every(isMapping)) return [...new Set(given.flatMap((value) => Object.keys(value)))].sort();
  if (!given.every((value) => Array.isArray(value) && value.some(isNested))) return undefined;
  const lengths = given.map((value) => (value as unknown[]).length);
  return Array.from({ length: Math.max(...lengths) }, (_, index) => index);
}

function describe(before: unknown, after: unknown, path: Path): ConfigurationChange {
  const hidden = [before, after].some((value) => value !== undefined && isHidden(path, value));
  const show = (value: unknown) => (value === undefined || hidden ? null : cut(canonicalJson(value)));
  return {
    path: pathText([...path]),
    change: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    before: show(before),
    after: show(after),
    hidden,
  };
}

function isHidden(path: Path, value: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => isHidden(path, item));
  // A mapping is compared as a whole only with a value of another kind. Its contents are not checked, so it is hidden.
  if (isMapping(value)) return true;
  if (typeof value !== 'string' || onlyReference.test(value)) return false;
  const key = String(path.findLast((part) => typeof part === 'string') ?? '');
  const [section, , part] = path;
  if (section === 'services' || section === 'events' || (section === 'providers' && part === 'config')) {
    return !shown.has(key) || /[@?]/.test(value) || (addresses.has(key) && !withoutPath.test(value));
  }
  return isLiteralSecret(key, value) || path.some(carriesCredentials) || hasCredentialInAddress(value);
}

function cut(text: string): string {
  const letters = Array.from(text);
  return letters.length <= longest ? text : `${letters.slice(0, longest).join('')}…`;
}

function at(value: unknown, key: string | number): unknown {
  if (Array.isArray(value)) return value[Number(key)];
  return isMapping(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isSame(before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) return before === after;
  // Nested values are compared part by part; lists of texts as a whole.
  if (keysOf(before, after) !== undefined) return false;
  return canonicalJson(before) === canonicalJson(after);
}

function isNested(value: unknown): boolean {
  return value !== null && typeof value === 'object';
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return isNested(value) && !Array.isArray(value);
}
