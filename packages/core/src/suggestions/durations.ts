import { parseDuration } from '@belay/contract/durations';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const units: Readonly<Record<string, number>> = {
  s: second,
  sec: second,
  secs: second,
  second,
  seconds: second,
  m: minute,
  min: minute,
  mins: minute,
  minute,
  minutes: minute,
  h: hour,
  hr: hour,
  hrs: hour,
  hour,
  hours: hour,
  d: day,
  day,
  days: day,
  week: 7 * day,
  weeks: 7 * day,
};
const numbers: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  forty: 40,
  'forty-five': 45,
  fifty: 50,
  sixty: 60,
  ninety: 90,
};

const unit = 'seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?';
const number = `\\d{1,6}(?:[.,]\\d{1,2})?|${Object.keys(numbers)
  .filter((word) => word !== 'a' && word !== 'an')
  .join('|')}`;
const forms: readonly { pattern: RegExp; read(match: RegExpExecArray): number | undefined }[] = [
  // PT1H30M; `P10Y` has no fixed length and is not read.
  { pattern: /(?<![\w-])P(?:\d{1,6}[WD])*(?:T(?:\d{1,6}[HMS])+)?(?![\w])/g, read: ([text]) => parsed(text) },
  // 1h30m, 45min, 2 hrs 15 min, 1.5 hours, two hours, three and a half hours, 2h
  {
    pattern: new RegExp(
      `(?<![\\w.,:+-])(${number})( and a half)?[ -]?(${unit}|[hmd])(?![\\w])(?:(?:[ ,]| and )?(${number}) ?(minutes?|mins?|m)(?![\\w])| and (a half|a quarter))?`,
      'g',
    ),
    read: ([, count, more, of = '', rest, restUnit = '', part]) =>
      (amount(count) + (more ? 0.5 : 0) + (part === 'a half' ? 0.5 : part ? 0.25 : 0)) * (units[of] ?? 0) +
      (rest === undefined ? 0 : amount(rest) * (units[restUnit] ?? 0)),
  },
  {
    pattern: /(?<![\w.+-])(?:\d{1,4}h\d{1,4}m(?:in)?(?:\d{1,4}s)?|\d{1,4}d\d{1,4}h)(?![\w])/g,
    read: ([text]) => parsed(text.replace('min', 'm')),
  },
  // an hour, a day, an hour and a half
  {
    pattern: /(?<![\w-])(?<!half |quarter of )(?:an?|1) (minute|hour|day|week)(?![\w])( and a half| and a quarter)?/g,
    read: ([, of = '', more]) => (units[of] ?? 0) * (more === undefined ? 1 : more.endsWith('half') ? 1.5 : 1.25),
  },
  { pattern: /(?<![\w-])(?<!and )half (?:an? )(hour|day)(?![\w])/g, read: ([, of = '']) => (units[of] ?? 0) / 2 },
  { pattern: /(?<![\w-])(?:a )?quarter of an hour(?![\w])/g, read: () => 15 * minute },
  {
    pattern: /(?<![\w-])(three quarters of an|a couple of) hours?(?![\w])/g,
    read: ([, kind]) => (kind === 'a couple of' ? 2 * hour : 45 * minute),
  },
];

/** Before a time, these words state when something happened or how often, and not how long access is wanted. */
const elsewhere =
  /(?:\b(?:last|past|previous|after|every|each|than|since|took|takes|timeout of|time of|ago|old|in|these|those|those last)\s*)$/;
const afterwards = /^[ -]?(?:ago|old|earlier|later|before|timeout|window|trial|log|backup|average|delay|latency)\b/;
const wished =
  /(?:\b(?:for|during|of|next|up to|at most|within|only|just|duration:?|about|max(?:imum)?)\s*(?:the )?(?:next )?)$/;

/**
 * Returns how long a person wants access, in milliseconds, when their words state it without doubt: a single duration,
 * a single duration after a word such as "for", or an end that is one instant (`until 2026-01-01T12:00Z`,
 * `until 17:00 UTC`). Vaguer words ("until tonight", "a few hours", "P10Y") are not read, and the role's default
 * applies.
 */
export function readWishedDuration(text: string, now: Date): number | undefined {
  const lower = text
    .normalize('NFKC')
    .replace(/\s+/g, ' ')
    // Designators of ISO 8601 stay upper case; everything else is read in lower case.
    .replace(/(?<![\w-])P[\dTWDHMS]{2,30}(?![\w])|[^P]|P/g, (piece) =>
      piece.length > 1 ? piece : piece.toLowerCase(),
    );
  const until = readEnd(lower, now);
  if (until !== undefined) return until;
  const found: { value: number; wished: boolean; from: number; to: number }[] = [];
  for (const { pattern, read } of forms) {
    for (const match of lower.matchAll(pattern)) {
      const value = read(match as RegExpExecArray);
      const to = match.index + match[0].length;
      if (value === undefined || !(value > 0)) continue;
      if (found.some((other) => match.index < other.to && other.from < to)) continue;
      const before = lower.slice(Math.max(0, match.index - 24), match.index);
      if (elsewhere.test(before) || afterwards.test(lower.slice(to, to + 12))) continue;
      found.push({ value: Math.round(value), wished: wished.test(before), from: match.index, to });
    }
  }
  const chosen = found.some((one) => one.wished) ? found.filter((one) => one.wished) : found;
  const values = new Set(chosen.map(({ value }) => value));
  const [only] = values;
  return values.size === 1 ? only : undefined;
}

function readEnd(text: string, now: Date): number | undefined {
  const instant = /\b(?:until|till) (\d{4}-\d\d-\d\d)t(\d\d:\d\d(?::\d\d)?)(z|[+-]\d\d:\d\d)(?![\w])/.exec(text);
  if (instant) return ahead(Date.parse(`${instant[1]}T${instant[2]}${instant[3]?.toUpperCase()}`), now);
  const time = /\b(?:until|till) (\d{1,2}):(\d\d) ?(?:utc|gmt|z)(?![\w])/.exec(text);
  if (!time || Number(time[1]) > 23 || Number(time[2]) > 59) return undefined;
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), Number(time[1]), Number(time[2]));
  return ahead(today, now) ?? ahead(today + day, now);
}

function ahead(end: number, now: Date): number | undefined {
  const left = end - now.getTime();
  return Number.isFinite(left) && left > 0 ? left : undefined;
}

function parsed(text: string): number | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

function amount(text = ''): number {
  return numbers[text] ?? Number(text.replace(',', '.'));
}
