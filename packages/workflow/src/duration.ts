import { Temporal } from 'temporal-polyfill';
import { isObject } from './json.js';
import type { Json } from './types.js';

const SHORT = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
/** What most durations are: whole numbers of units of a fixed length, which need no calendar. */
const PLAIN = /^P(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?(?<!P)$/;
const UNITS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 } as const;

/** Ten years: more than any wait that makes sense, and small enough that adding it to a date never overflows. */
export const LONGEST = 3650 * UNITS.days;

/**
 * A duration in milliseconds from ISO 8601 (`PT1H30M`) or the short form (`1h30m`, `45s`, `500ms`). Throws a
 * `RangeError` for anything else, for negatives, for years and months (they have no fixed length), and beyond ten years.
 */
export function parseDuration(text: string): number {
  const short = text === '' ? null : SHORT.exec(text);
  if (short) {
    const [, days, hours, minutes, seconds, milliseconds] = short;
    return durationOf({
      days: Number(days ?? 0),
      hours: Number(hours ?? 0),
      minutes: Number(minutes ?? 0),
      seconds: Number(seconds ?? 0),
      milliseconds: Number(milliseconds ?? 0),
    });
  }
  const plain = PLAIN.exec(text);
  if (plain) {
    const [, days, hours, minutes, seconds] = plain;
    return durationOf({
      days: Number(days ?? 0),
      hours: Number(hours ?? 0),
      minutes: Number(minutes ?? 0),
      seconds: Number(seconds ?? 0),
    });
  }
  const duration = readIso(text);
  if (duration.sign < 0) throw new RangeError('a duration must not be negative');
  if (duration.years !== 0 || duration.months !== 0) {
    throw new RangeError('years and months have no fixed length; use weeks or days');
  }
  return within(duration.total({ unit: 'milliseconds', relativeTo: Temporal.PlainDateTime.from('2001-01-01') }));
}

function readIso(text: string): Temporal.Duration {
  // The polyfill also takes lower-case designators and signs; only the strict form is ISO 8601.
  if (!/^[-+]?P[0-9YMWDTHS.,]+$/.test(text)) throw new RangeError('not an ISO 8601 duration');
  try {
    return Temporal.Duration.from(text);
  } catch {
    throw new RangeError('not an ISO 8601 duration');
  }
}

/** The DSL's duration in any of its forms, evaluated already, in milliseconds. Throws a `RangeError`. */
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
  return within(total);
}

function within(milliseconds: number): number {
  const whole = Math.round(milliseconds);
  if (whole > LONGEST) throw new RangeError('a duration must not exceed 3650 days');
  return whole;
}

/** Milliseconds as an ISO 8601 duration in days, hours, minutes and seconds; zero is `PT0S`. Throws a `RangeError`. */
export function formatDuration(milliseconds: number): string {
  if (!Number.isInteger(milliseconds) || milliseconds < 0)
    throw new RangeError('not a whole, positive number of milliseconds');
  const days = Math.floor(milliseconds / UNITS.days);
  const hours = Math.floor((milliseconds % UNITS.days) / UNITS.hours);
  const minutes = Math.floor((milliseconds % UNITS.hours) / UNITS.minutes);
  const seconds = (milliseconds % UNITS.minutes) / 1000;
  const time = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`;
  if (days === 0 && time === '') return 'PT0S';
  return `P${days ? `${days}D` : ''}${time ? `T${time}` : ''}`;
}

/** The moment `milliseconds` after `now`, as ISO 8601 in UTC with milliseconds. */
export function later(now: string, milliseconds: number): string {
  return new Date(Date.parse(now) + milliseconds).toISOString();
}
