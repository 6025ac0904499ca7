import { attempt, type Explain } from './attempt.js';
import type { ServiceTools, VaultService } from './port.js';
import { readKey } from './read-key.js';

/** Asked for by a check before any secret was read; that there is no such secret is an answer. */
const unread = 'belay-health';

/** A vault over a store that keeps one text under each path. A check reads again what was read last: it needs no permission beside. */
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
