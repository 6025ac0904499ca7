/** The pauses between tries that fail: the first doubles with each failure up to the last, in milliseconds. */
export interface BackOff {
  first: number;
  last: number;
}

/**
 * Returns how long to wait after so many failures in a row, in milliseconds: up to a quarter less than the pause, so that those
 * that failed together do not come back together. `byte` is a random one.
 */
export function backOff({ first, last }: BackOff, failures: number, byte: number): number {
  const pause = Math.min(last, first * 2 ** Math.min(Math.max(failures - 1, 0), 30));
  return Math.round(pause * (1 - byte / 1020));
}
