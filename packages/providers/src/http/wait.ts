/** What an answer says of waiting is read from its status and headers. */
interface Told {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/**
 * Returns for how long a provider wants to be left alone, in milliseconds, by `Retry-After` (RFC 9110, 10.2.3): seconds or a date.
 * Undefined when it does not say so.
 */
export function readRetryAfter({ headers }: Told, now: number): number | undefined {
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : untilMoment(at, { headers }, now);
}

/**
 * Returns how long it is from an answer to a moment that it names, both by the provider's clock where the answer has a date, so
 * that a clock that differs from ours does no harm.
 */
function untilMoment(moment: number, { headers }: Pick<Told, 'headers'>, now: number): number {
  const date = Date.parse(headers.date ?? '');
  return Math.max(0, moment - (Number.isNaN(date) ? now : date));
}

/**
 * Returns a hook for vendors that name the second, since 1970, at which a limit starts anew (`X-Rate-Limit-Reset` of Okta,
 * `X-RateLimit-Reset` of GitHub). `left` is the header that has to be 0, where the vendor sends the moment with each answer.
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
