import type { Logger } from './logger.js';
import { oneLine } from './start-error.js';

/** What has been started, to be stopped again in the opposite order. */
export interface Closing {
  add(what: string, close: () => Promise<unknown>): void;
  /** Stops everything that was added; one that fails does not keep the others from being stopped. Safe to call twice. */
  close(): Promise<void>;
}

export function createClosing(log: Logger): Closing {
  const stack: { what: string; close: () => Promise<unknown> }[] = [];
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
      try {
        await entry.close();
      } catch (error) {
        log.warn({ error: oneLine(error) }, `${entry.what} could not be stopped cleanly`);
      }
    }
  }

  return {
    add: (what, close) => void stack.push({ what, close }),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
}
