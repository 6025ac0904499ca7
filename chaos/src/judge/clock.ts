import type { History } from '../history.js';

/** Returns the first and the last moment at which a clock that was stepped came to a time. They differ when it was stepped back. */
export function whenClockShows(clock: History['clock'], time: number): { first: number; last: number } {
  const segments = [{ at: Number.NEGATIVE_INFINITY, offset: 0 }, ...clock].map(({ at, offset }, index, all) => ({
    from: at,
    to: all[index + 1]?.at ?? Number.POSITIVE_INFINITY,
    // When this segment's clock shows the time, if it lasts so long.
    shows: time - offset,
  }));
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { from, to, shows } of segments) {
    if (shows >= to) continue;
    first = Math.min(first, Math.max(from, shows));
  }
  for (const [index, { from, to, shows }] of segments.entries()) {
    // Before the time at the beginning of the segment: it comes to it within the segment, or with the next step.
    if (shows > from || index === 0) last = Math.min(Math.max(shows, from), to);
  }
  return { first, last };
}
