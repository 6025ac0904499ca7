import { longestDuration, parseDuration } from '@belay/contract/durations';
import { isObject } from './json.js';
import type { Json } from './types.js';

const UNITS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 } as const;

/**
 * Returns an evaluated duration of the DSL, in any of its forms, in milliseconds. Throws a `RangeError` when it is not
 * valid or is longer than 3650 days.
 */
export function durationOf(value: Json): number {
  if (typeof value === 'string') return parseDuration(value);
  if (!isObject(value) || Object.keys(value).length === 0) throw new RangeError('not a duration');
  let total = 0;
  for (const [unit, amount] of Object.entries(value)) {
    if (!Object.hasOwn(UNITS, unit)) throw new RangeError(`${unit} is not a unit of a duration`);
    if (typeof amount !== 'number' || !Number.isInteger(amount)) throw new RangeError(`${unit} must be an integer`);
    if (amount < 0) throw new RangeError('a duration must not be negative');
    total += amount * UNITS[unit as keyof typeof UNITS];
  }
  if (total > longestDuration) throw new RangeError('a duration must not exceed 3650 days');
  return Math.round(total);
}

/** Returns the time `milliseconds` after `now`, as ISO 8601 in UTC with milliseconds. */
export function later(now: string, milliseconds: number): string {
  return new Date(Date.parse(now) + milliseconds).toISOString();
}
