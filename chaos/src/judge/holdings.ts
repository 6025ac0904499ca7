import type { AccessRequest, History, Interval } from '../history.js';

/** The access of one request at one target: when it was held, and when it should have been. */
export interface Holding {
  request: AccessRequest;
  holding: string;
  target: string;
  /** When it was held, according to the samples. */
  held: Interval[];
  /** The first moment at which it was allowed to end; null when none is known. */
  mayEndFrom: number | null;
  /** The moment from which on it must not be held. */
  mustEndBy: number | null;
}

/** An interval in which something was held that no request accounts for. */
export interface Stray {
  holding: string;
  interval: Interval;
}

/** Assigns every interval of the samples to the latest request that allowed the holding before it. */
export function assignHoldings(history: History): { holdings: Holding[]; strays: Stray[] } {
  const strays: Stray[] = [];
  const byHolding = new Map<string, Holding[]>();
  for (const request of history.requests) {
    for (const holding of request.holdings) {
      const target = targetOf(holding);
      const made = { request, holding, target, held: [], ...endsOf(request, history) };
      byHolding.set(holding, [...(byHolding.get(holding) ?? []), made]);
    }
  }
  for (const [holding, intervals] of Object.entries(history.held)) {
    for (const interval of intervals) {
      const owner = (byHolding.get(holding) ?? [])
        .filter(({ request }) => request.mayHoldFrom !== null && request.mayHoldFrom <= interval.from)
        .sort((a, b) => (a.request.mayHoldFrom ?? 0) - (b.request.mayHoldFrom ?? 0))
        .at(-1);
      if (owner) owner.held.push(interval);
      else strays.push({ holding, interval });
    }
  }
  return { holdings: [...byHolding.values()].flat(), strays };
}

function endsOf({ expiresAt, endSentAt, endedAt }: AccessRequest, { clock }: History) {
  const expiry = expiresAt === null ? null : whenClockShows(clock, expiresAt);
  const earliest = [expiry?.first, endSentAt].filter((each) => typeof each === 'number');
  const latest = [expiry?.last, endedAt].filter((each) => typeof each === 'number');
  return {
    mayEndFrom: earliest.length === 0 ? null : Math.min(...earliest),
    mustEndBy: latest.length === 0 ? null : Math.min(...latest),
  };
}

/** Returns the parts of a span that no interval covers. */
export function gaps(span: Interval, covered: readonly Interval[]): Interval[] {
  const found: Interval[] = [];
  let from = span.from;
  for (const each of [...covered].sort((a, b) => a.from - b.from)) {
    if (each.from > from) found.push({ from, to: Math.min(each.from, span.to) });
    from = Math.max(from, each.to);
    if (from >= span.to) break;
  }
  if (from < span.to) found.push({ from, to: span.to });
  return found.filter(({ from: start, to }) => to > start);
}

/** Returns the first and the last moment at which a stepped clock reached a time. They differ when the clock was stepped back. */
function whenClockShows(clock: History['clock'], time: number): { first: number; last: number } {
  const segments = [{ at: Number.NEGATIVE_INFINITY, offset: 0 }, ...clock].map(({ at, offset }, index, all) => ({
    from: at,
    to: all[index + 1]?.at ?? Number.POSITIVE_INFINITY,
    // When the clock of this segment shows the time, if the segment lasts until then.
    shows: time - offset,
  }));
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { from, to, shows } of segments) {
    if (shows >= to) continue;
    first = Math.min(first, Math.max(from, shows));
  }
  for (const [index, { from, to, shows }] of segments.entries()) {
    // The segment begins before the clock shows the time: the clock reaches it within the segment, or with the next step.
    if (shows > from || index === 0) last = Math.min(Math.max(shows, from), to);
  }
  return { first, last };
}

/** Returns the target that `person target/role` is held at. */
export function targetOf(holding: string): string {
  return holding.split(' ')[1]?.split('/')[0] ?? '';
}
