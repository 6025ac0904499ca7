import type { Logger } from '@belay/engine';
import { Terminal } from '@belay/providers';

/** How long what a check found is told again, in milliseconds: every look at /health would be a call to the vendor. */
const checkAge = 30_000;
const checkTimeout = 1_500;

export interface ProbeOptions {
  /** What is asked, as the log calls it. */
  name: string;
  check(signal: AbortSignal): Promise<void>;
  log: Logger;
  /** The process's own clock, in milliseconds. */
  now(): number;
}

/** Asks a service how it is, at most twice a minute; says no more than whether it answers, since anybody may read it. */
export function createProbe(options: ProbeOptions): () => Promise<string> {
  let checked: { at: number; health: Promise<string> } | undefined;
  return () => {
    if (checked === undefined || options.now() - checked.at >= checkAge) {
      checked = { at: options.now(), health: ask() };
    }
    return checked.health;
  };

  async function ask(): Promise<string> {
    try {
      const signal = AbortSignal.timeout(checkTimeout);
      await Promise.race([options.check(signal), rejectWhenAborted(signal)]);
      return 'healthy';
    } catch (error) {
      options.log.warn({ error }, `${options.name} is not healthy`);
      return error instanceof Terminal ? 'degraded: it rejects the request' : 'degraded: it does not respond';
    }
  }
}

/** For a client that does not heed its signal: it is waited for no longer than one that does. */
function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The service did not respond in time')), { once: true });
  });
}
