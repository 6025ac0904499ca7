import type { StatedLimit } from './budget.js';

/** The parts of a response that show how long to wait. */
interface Told {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/**
 * Returns the pause that a provider demands, in milliseconds, by `Retry-After` (RFC 9110, 10.2.3): seconds or a date. Undefined
 * without a valid header.
 */
export function readRetryAfter({ headers }: Told, now: number): number | undefined {
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : untilMoment(at, { headers }, now);
}

/**
 * Returns the milliseconds from a response to a moment that it names. Both are by the provider's clock where the response has a
 * date, so that a difference between the clocks does no harm.
 */
function untilMoment(moment: number, { headers }: Pick<Told, 'headers'>, now: number): number {
  const date = Date.parse(headers.date ?? '');
  return Math.max(0, moment - (Number.isNaN(date) ? now : date));
}

/**
 * Returns a `waitOf` for vendors that state when a limit restarts, in seconds since 1970 (`X-Rate-Limit-Reset` of Okta,
 * `X-RateLimit-Reset` of GitHub). `reset` is the header with this time. Where the vendor sends it with each response,
 * `left` is the header that must be 0.
 */
export function waitUntilReset({
  reset,
  left,
  statuses,
}: {
  reset: string;
  left?: string;
  statuses: readonly number[];
}) {
  return ({ status, headers }: Told, now: number): number | undefined => {
    if (!statuses.includes(status) || (left !== undefined && headers[left] !== '0')) return undefined;
    const seconds = Number(headers[reset] ?? Number.NaN);
    return Number.isFinite(seconds) ? untilMoment(seconds * 1000, { headers }, now) : undefined;
  };
}

/**
 * Returns a `limitOf` for vendors that state with each response what is left of a limit, in the named headers; `reset` is a time in
 * seconds since 1970.
 */
export function readStatedLimit(names: { limit: string; left: string; reset: string }) {
  return ({ headers }: Pick<Told, 'headers'>, now: number): StatedLimit | undefined => {
    const [limit, left, reset] = [names.limit, names.left, names.reset].map((name) => readCount(headers[name]));
    if (limit === undefined || left === undefined || reset === undefined) return undefined;
    return { limit, left, restartsIn: untilMoment(reset * 1000, { headers }, now) };
  };
}

function readCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined;
}
