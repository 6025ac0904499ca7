import { attempt, type Explain } from './attempt.js';
import type { ServiceTools, VaultService } from './port.js';
import { readKey } from './read-key.js';

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
