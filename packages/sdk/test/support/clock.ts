import { createTransport, type Transport } from '../../src/transport/create-transport.js';

export interface StoppedClock {
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Lets this many milliseconds pass. */
  pass(milliseconds: number): void;
}

/** Returns a clock that stands still until a test lets time pass. `onDelay` is called at the start of each wait. */
export function stopClock(onDelay: (milliseconds: number) => void = () => {}): StoppedClock {
  const waiting: { left: number; resolve(): void }[] = [];
  return {
    delay: (milliseconds, signal) =>
      new Promise<void>((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        waiting.push({ left: milliseconds, resolve });
        onDelay(milliseconds);
      }),
    pass(milliseconds) {
      for (const each of waiting) {
        each.left -= milliseconds;
        if (each.left <= 0) each.resolve();
      }
    },
  };
}

/** Returns a transport with a time limit of 0.3 seconds on this clock, for calls and for connecting watches. */
export function transportBy(clock: StoppedClock, url: string): Transport {
  return createTransport({
    url: `${url}/trpc`,
    fetch: globalThis.fetch,
    headers: {},
    retry: { attempts: 1_000, streamAttempts: 4, firstDelay: 60_000, longestDelay: 60_000 },
    patience: { delay: clock.delay, random: () => 0 },
    timeout: 300,
  });
}
