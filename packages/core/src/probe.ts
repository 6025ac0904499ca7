import type { Logger } from '@belay/engine';
import { Terminal } from '@belay/providers';

/** How long a health result is cached, in milliseconds: otherwise every request of /health would call the vendor. */
const checkAge = 30_000;
const checkTimeout = 1_500;

export interface ProbeOptions {
  /** The name of the service in the log. */
  name: string;
  check(signal: AbortSignal): Promise<void>;
  log: Logger;
  /** The process's own clock, in milliseconds. */
  now(): number;
}

/**
 * Returns a probe that checks a service at most twice per minute, and reports only whether the service responds and
 * accepts the request, because the result is public.
 */
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

/** Rejects when the signal aborts, so that a client that ignores its signal is not waited for any longer. */
function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The service did not respond in time')), { once: true });
  });
}
