import { parseExactly } from '@belay/contract/exact-json';
import { attempt, type Explain } from './attempt.js';
import type { ServiceTools, VaultService } from './port.js';

/** The path that a check reads before any secret was read; "no such secret" is a successful response. */
const unread = 'belay-health';

/**
 * Creates a vault from a store with one text per path. A check reads the last path again, so that it needs no further
 * permission.
 */
export function readThrough(store: {
  tools: ServiceTools;
  explain: Explain;
  text(path: string, signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}): VaultService {
  let latest: string | undefined;
  const ask = (path: string, signal: AbortSignal) =>
    attempt(store.tools, signal, store.explain, (limited) => store.text(path, limited));
  return {
    async read({ path, key }, signal) {
      const text = await ask(path, signal);
      if (text === undefined) return undefined;
      latest = path;
      return readKey(text, key);
    },
    async check(signal) {
      await ask(latest ?? unread, signal);
    },
    close: store.close,
  };
}

/**
 * Returns one key of a secret's text, for stores with one text per name: a field of a JSON object or, as the key
 * `value`, the whole of any other text. Returns undefined when there is no such key.
 */
function readKey(text: string, key: string): string | undefined {
  const fields = parseObject(text);
  if (fields === undefined) return key === 'value' ? text : undefined;
  return textOf(fields, key);
}

/** Returns a field of an object as text; undefined when it is missing, or not a text, number or boolean. */
export function textOf(fields: object, key: string): string | undefined {
  if (!Object.hasOwn(fields, key)) return undefined;
  const value = (fields as Record<string, unknown>)[key];
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function parseObject(text: string): object | undefined {
  try {
    const parsed: unknown = parseExactly(text);
    return parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
