import type { Course } from './history.js';

/** How far a history has come: decimal numbers by name, none of which ever falls. */
export type Counters = Readonly<Record<string, string>>;

/** Returns counters as a position; null without any. */
export function positionOf(counters: Counters): string | null {
  const sorted = Object.entries(counters).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.length === 0 ? null : JSON.stringify(Object.fromEntries(sorted));
}

/** Compares two positions of `positionOf`: a counter that is lower, or missing, shows that something is lacking. */
export function compareCounters(known: string, seen: string): Course {
  return lacks(JSON.parse(known) as Counters, JSON.parse(seen) as Counters) ? 'behind' : 'ahead';
}

/** Returns whether `now` lacks something that `before` had. */
export function lacks(before: Counters, now: Counters): boolean {
  return Object.entries(before).some(([name, count]) => now[name] === undefined || BigInt(now[name]) < BigInt(count));
}
