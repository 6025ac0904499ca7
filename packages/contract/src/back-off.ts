/** The pauses between failed tries: the first doubles with each failure in a row, up to the last. In milliseconds. */
export interface Pauses {
  first: number;
  last: number;
}

/** Returns the pause after so many failures in a row, in milliseconds. */
export function pauseAfter({ first, last }: Pauses, failures: number): number {
  return Math.min(last, first * 2 ** Math.min(Math.max(failures - 1, 0), 30));
}

/**
 * Returns a pause with jitter: between half of `pauseAfter` and all of it, so that callers that failed together do not retry
 * together. `random` is from 0 to 1.
 */
export function backOff(pauses: Pauses, failures: number, random: number): number {
  return Math.round(pauseAfter(pauses, failures) * (1 - random / 2));
}

/**
 * Returns between three and five quarters of an interval, so that processes that started together drift apart. `random` is from
 * 0 to 1.
 */
export function jitter(interval: number, random: number): number {
  return Math.round(interval * (0.75 + random / 2));
}
