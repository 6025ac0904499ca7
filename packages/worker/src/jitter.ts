/** Returns between three and five quarters of the interval, so that workers that started together drift apart. */
export function jitter(interval: number, byte: number): number {
  return Math.round(interval * (0.75 + byte / 510));
}
