const units = { weeks: 604_800_000, days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000 } as const;

/** Ten years: more than any wait that makes sense, and small enough that adding it to a date never overflows. */
export const longestDuration = 3_650 * units.days;

const short = /^(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
/** ISO 8601. Of its parts, only hours, minutes and seconds may have a fraction. */
const iso =
  /^([-+]?)P(?=[\dT])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+(?:[.,]\d{1,9})?)H)?(?:(\d+(?:[.,]\d{1,9})?)M)?(?:(\d+(?:[.,]\d{1,9})?)S)?)?$/;
/** A fraction in a part that is not the smallest, which ISO 8601 does not allow. */
const earlyFraction = /[.,]\d+[HM]\d/;

/**
 * Returns the milliseconds of an ISO 8601 duration (`PT1H30M`) or of the short form (`1h30m`, `45s`, `500ms`). Throws a
 * `RangeError` for anything else, for negative durations, for years and months (they have no fixed length), and beyond ten
 * years.
 */
export function parseDuration(text: string): number {
  const brief = short.exec(text);
  if (brief) {
    const [days, hours, minutes, seconds, milliseconds] = brief.slice(1).map(toNumber);
    return within(sum({ days, hours, minutes, seconds }) + (milliseconds ?? 0));
  }
  const match = earlyFraction.test(text) ? null : iso.exec(text);
  if (!match) throw new RangeError('not an ISO 8601 duration');
  const [years, months, weeks, days, hours, minutes, seconds] = match.slice(2).map(toNumber);
  const total = sum({ weeks, days, hours, minutes, seconds });
  if (match[1] === '-' && (total !== 0 || years || months)) throw new RangeError('a duration must not be negative');
  if (years || months) throw new RangeError('years and months have no fixed length; use weeks or days');
  return within(total);
}

function toNumber(part: string | undefined): number {
  return Number(part?.replace(',', '.') ?? 0);
}

function sum(parts: { [U in keyof typeof units]?: number | undefined }): number {
  return Object.entries(units).reduce(
    (total, [unit, size]) => total + size * (parts[unit as keyof typeof units] ?? 0),
    0,
  );
}

/** Returns whole milliseconds. Throws a `RangeError` beyond the longest duration. */
function within(milliseconds: number): number {
  const whole = Math.round(milliseconds);
  if (whole > longestDuration) throw new RangeError('a duration must not exceed 3650 days');
  return whole;
}

/**
 * Returns milliseconds as an ISO 8601 duration in days, hours, minutes and seconds; zero is `PT0S`. Throws a
 * `RangeError` for a negative number or a fraction.
 */
export function formatDuration(milliseconds: number): string {
  if (!Number.isInteger(milliseconds) || milliseconds < 0)
    throw new RangeError('not a whole, positive number of milliseconds');
  const days = Math.floor(milliseconds / units.days);
  const hours = Math.floor((milliseconds % units.days) / units.hours);
  const minutes = Math.floor((milliseconds % units.hours) / units.minutes);
  const seconds = (milliseconds % units.minutes) / 1_000;
  const time = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`;
  if (days === 0 && time === '') return 'PT0S';
  return `P${days ? `${days}D` : ''}${time ? `T${time}` : ''}`;
}
