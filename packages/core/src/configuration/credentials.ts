import { isLiteralSecret, isPlain, isWebhookHost } from './literal-secrets.js';

/** Keys of a workflow's document below which every value may be a credential. */
const carriers = new Set([
  'authentication',
  'authentications',
  'authorization',
  'body',
  'env',
  'environment',
  'headers',
  'query',
]);

/** Keys of lists of tasks: below them are the names of tasks, which mean nothing else. */
const taskLists = new Set(['do', 'try', 'branches']);

const hidden = '…';

/** Returns whether every value below a key of a workflow's document may be a credential. */
export function carriesCredentials(key: string | number): boolean {
  return carriers.has(String(key).toLowerCase());
}

/** Matches an address with a user or a query, also within an expression. */
const userOrQuery = /:\/\/[^\s/?#]*@|:\/\/[^\s#]*\?/;
/** Matches the path of each address, also within an expression, after its host. */
const pathOfAddress = /(:\/\/[^\s/?#"']*)(\/[^\s?#"']*)/g;

/**
 * Returns whether a text has an address with a user, a query or a part of its path that may be a credential. Addresses of
 * webhooks have their secret in the path.
 */
export function hasCredentialInAddress(text: string): boolean {
  if (userOrQuery.test(text)) return true;
  return [...text.matchAll(pathOfAddress)].some(([, host = '', path = '']) => hidePath(host, path) !== path);
}

/**
 * Returns tasks of a workflow without the credentials that they may carry, in the same shape: values below `authentication`,
 * `headers`, `query` and `body`, values of keys such as `token`, and of addresses the user, the query and the parts of the path that
 * may be a credential are "…". The name of a reusable authentication stays.
 */
export function withoutCredentials<T>(tasks: readonly T[]): T[] {
  return tasks.map((item) => mapEntries(item, (_name, task) => clean(task)) as T);
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => (typeof item === 'string' ? cleanText(item) : clean(item)));
  return mapEntries(value, (key, item) => {
    if (Array.isArray(item) && taskLists.has(key)) return withoutCredentials(item);
    if (carriesCredentials(key)) return isReference(item) ? item : hide(item);
    if (typeof item !== 'string') return clean(item);
    const text = cleanText(item);
    return isLiteralSecret(key, text) ? hidden : text;
  });
}

/** Returns whether a value names a reusable authentication. */
function isReference(value: unknown): boolean {
  return isMapping(value) && Object.keys(value).join() === 'use';
}

function hide(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) return value.map(hide);
  return isMapping(value) ? mapEntries(value, (_key, item) => hide(item)) : hidden;
}

/** Returns a text without the credentials of its addresses. An expression that makes such an address is hidden as a whole. */
function cleanText(text: string): string {
  if (!hasCredentialInAddress(text)) return text;
  if (text.includes('${')) return hidden;
  return text
    .replace(/:\/\/[^\s/?#]*@/g, `://${hidden}@`)
    .replace(pathOfAddress, (_, host: string, path: string) => `${host}${hidePath(host, path)}`)
    .replace(/(:\/\/[^\s?#]*)\?[^\s#]*/g, `$1?${hidden}`);
}

function hidePath(host: string, path: string): string {
  if (isWebhookHost(host)) return path.replace(/[^/]+/g, hidden);
  return path.replace(/[^/]+/g, (part) => (isPlain(part) ? part : hidden));
}

function mapEntries(value: unknown, change: (key: string, item: unknown) => unknown): unknown {
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, change(key, item)]));
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
