import type { Logger } from './logger.js';
import { oneLine } from './start-error.js';

/** The started parts of a program, which are stopped in the opposite order. */
export interface Closing {
  add(what: string, close: () => Promise<unknown>): void;
  /** Stops every part that was added, also when another one fails. Safe to call twice. */
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
