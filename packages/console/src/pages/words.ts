import { parseDuration } from '@belay/contract/durations';
import { texts } from '../texts.js';

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/**
 * Formats an ISO 8601 duration in at most two units (`1 hour 30 minutes`); returns it unchanged when it is not valid.
 */
export function durationInWords(iso: string): string {
  let rest: number;
  try {
    rest = parseDuration(iso);
  } catch {
    return iso;
  }
  if (rest < 1000) return rest === 0 ? texts.words.noTime : texts.words.lessThanASecond;
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) parts.push(count(number, unit));
  }
  return parts.slice(0, 2).join(' ');
}

/** Returns a count with its unit: `1 minute`, `2 minutes`. */
export function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}

/** Returns a list in words: `a`, `a and b`, `a, b and c`. */
export function listInWords(items: readonly string[], word: 'and' | 'or' = 'and'): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1)}`;
}

/** Formats an instant in UTC: `21 Nov 2026, 16:05:09 UTC`. */
export function momentInWords(iso: string): string {
  const [date = '', time = ''] = iso.split('T');
  const [year = '', month = '', day = ''] = date.split('-');
  return `${Number(day)} ${months[Number(month) - 1] ?? month} ${year}, ${time.slice(0, 8)} UTC`;
}
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats the time left, to the second. Same words as static/words.js, which updates them. */
export function leftInWords(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds <= 0) return texts.words.noTimeLeft;
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (days > 0) return texts.words.dHLeft(days, hours);
  if (hours > 0) return texts.words.hMinLeft(hours, minutes);
  if (minutes > 0) return texts.words.minSLeft(minutes, seconds % 60);
  return texts.words.sLeft(seconds);
}

/** Formats a time relative to now. Same words as static/words.js. */
export function relativeInWords(milliseconds: number): string {
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 45) return milliseconds > 0 ? texts.words.inAMoment : texts.words.justNow;
  const text =
    seconds < 5400
      ? count(Math.round(seconds / 60), 'minute')
      : seconds < 129_600
        ? count(Math.round(seconds / 3600), 'hour')
        : count(Math.round(seconds / 86_400), 'day');
  return milliseconds > 0 ? texts.words.in(text) : texts.words.ago(text);
}
