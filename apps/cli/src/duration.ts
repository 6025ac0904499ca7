import { parseDuration } from '@belay/contract/durations';

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** Matches a number and a unit; only the first letter of the unit counts: `2 hours`, `90 min`, `1 hr 30 mins`. */
const words = /^(\d+)\s*(d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)(?=[\s,\d]|$)(?:[\s,]|and\b)*/i;

/** Converts a duration as people write it into the server's form. Returns other text unchanged, for the server to reject. */
export function toDuration(text: string): string {
  const parts: string[] = [];
  let rest = text.trim();
  for (let found = words.exec(rest); found !== null; found = words.exec(rest)) {
    parts.push(`${found[1]}${found[2]?.[0]?.toLowerCase()}`);
    rest = rest.slice(found[0].length);
  }
  return rest === '' && parts.length > 0 ? parts.join('') : text.trim();
}

/** Returns a duration in milliseconds, in the forms of `toDuration` or in ISO 8601; undefined for other text. */
export function readDuration(text: string): number | undefined {
  try {
    return parseDuration(toDuration(text));
  } catch {
    return undefined;
  }
}

/** Formats milliseconds in the two largest units: `1d 3h`, `18m 20s`; `0s` for zero and less. */
export function describeDuration(milliseconds: number): string {
  let rest = Math.max(0, Math.round(milliseconds / 1000) * 1000);
  const parts: string[] = [];
  for (const [unit, size] of Object.entries(units)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join(' ') || '0s';
}

/** Returns how far an ISO 8601 instant is from now, in its largest unit: `3h ago`, `in 5m`, `now`; undefined for other text. */
export function describeAgo(instant: string | null | undefined, now: Date): string | undefined {
  const milliseconds = Date.parse(instant ?? '') - now.getTime();
  if (Number.isNaN(milliseconds)) return undefined;
  const [largest = ''] = describeDuration(Math.abs(milliseconds)).split(' ');
  if (largest === '0s') return 'now';
  return milliseconds < 0 ? `${largest} ago` : `in ${largest}`;
}

/** Returns the time left until an ISO 8601 instant; undefined when there is no end. */
export function describeTimeLeft(until: string | null | undefined, now: Date): string | undefined {
  const end = Date.parse(until ?? '');
  return Number.isNaN(end) ? undefined : describeDuration(end - now.getTime());
}
