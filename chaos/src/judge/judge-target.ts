import type { AccessRequest, History } from '../history.js';
import { bounds } from './bounds.js';
import { deadline, faultsBetween } from './deadlines.js';
import { gaps, type Holding, type Stray, targetOf } from './holdings.js';

/** One revocation, according to the samples of the target. */
export interface Revocation {
  target: string;
  /** When the access had to be removed, and when a sample last showed it. */
  due: number;
  done: number;
  /** Whether no fault was active, or had just been healed, that may be a reason for a delay. */
  undisturbed: boolean;
}

/** Judges rules 1 to 4, 7 and 11 of docs/guarantees.md from what the targets held. Returns the violations and the revocations. */
export function judgeTarget(history: History, holdings: readonly Holding[], strays: readonly Stray[]) {
  const wrong: Record<string, string[]> = {
    unrequested: [],
    overstayed: [],
    missing: [],
    slow: [],
    raced: [],
    left: [],
  };
  const revocations: Revocation[] = [];
  for (const { holding, interval } of strays) {
    wrong.unrequested?.push(`${holding} was held from ${clockOf(history, interval.from)} and was not requested`);
  }
  for (const each of holdings) {
    if (hasLongerWon(each)) {
      wrong.raced?.push(`${each.holding} was never granted, because a longer timer has won (${each.request.key})`);
    } else judgeStart(history, each, wrong.slow ?? []);
    judgeMissing(history, each, wrong.missing ?? []);
    const revocation = judgeEnd(history, each, wrong.overstayed ?? []);
    if (revocation) revocations.push(revocation);
    if (each.held.some(({ to }) => to >= history.endedAt - 2 * bounds.missing)) {
      wrong.left?.push(`${each.holding} is still held at the end (${each.request.key})`);
    }
  }
  return { wrong, revocations };
}

/** Returns whether a longer timer has won: a workflow that races timers then ends without a grant. */
function hasLongerWon({ request: { races, final, endSentAt }, held }: Holding): boolean {
  return races && held.length === 0 && endSentAt === null && final?.status === 'completed';
}

/** Judges that access which may be granted is granted in time, unless its request was ended before. */
function judgeStart(history: History, { request, holding, held }: Holding, wrong: string[]): void {
  const { mayHoldFrom: due, final, endSentAt } = request;
  if (due === null || final === null || final.state === 'cancelled' || final.status === 'faulted') return;
  const [first] = held;
  if (!first && endSentAt !== null) return;
  const done = first?.from ?? history.endedAt;
  // The bound after a fault also holds without one, because the speed of grants is measured but not promised.
  const late = bounds.afterFault;
  // A request for several targets is granted at none of them before all have been queried (R2), so it waits for the slowest.
  const latest = Math.max(
    ...request.holdings.map((each) =>
      deadline(history.faults, { target: targetOf(each), due, done, requestedAt: request.sentAt, late }),
    ),
  );
  if (done > latest) {
    wrong.push(`${holding} was granted ${done - due} ms after it was due (${request.key})`);
  }
}

/** Judges that access which was acknowledged as active is held until it may end. */
function judgeMissing(
  history: History,
  { request, holding, target, held, mayEndFrom }: Holding,
  wrong: string[],
): void {
  if (request.activeAt === null || mayEndFrom === null || mayEndFrom <= request.activeAt) return;
  const span = { from: request.activeAt, to: mayEndFrom - bounds.missing };
  // Intervals without samples count as held, because nothing is known about them.
  for (const gap of gaps(span, [...held, ...history.blind])) {
    const disturbed = faultsBetween(history.faults, target, gap.from, gap.to).length > 0;
    const allowed = disturbed ? bounds.afterFault : bounds.missing;
    const took = gap.to - gap.from;
    if (took > allowed) {
      wrong.push(`${holding} was missing for ${took} ms at ${clockOf(history, gap.from)} (${request.key})`);
    }
  }
}

/** Judges that access which has ended is not held any more. Returns its revocation. */
function judgeEnd(history: History, each: Holding, wrong: string[]): Revocation | null {
  const { request, holding, target, held, mustEndBy: due } = each;
  if (held.length === 0) return null;
  const done = Math.max(...held.map(({ to }) => to));
  if (due === null) {
    wrong.push(`${holding} was held and no answer said until when (${request.key})`);
    return null;
  }
  if (isLongerThanRequested(request, history)) {
    wrong.push(`${holding} was answered with an end that is later than what was requested (${request.key})`);
  }
  const latest = deadline(history.faults, { target, due, done, requestedAt: request.sentAt, late: bounds.late });
  if (done > latest) {
    wrong.push(`${holding} was held for ${done - due} ms after its end, ${done - latest} ms too long (${request.key})`);
  }
  const { goneAt } = request;
  // The time of a sample is when its answer arrived, which may be some milliseconds after it was true.
  if (goneAt !== null && held.some(({ from, to }) => from < goneAt && to > goneAt + bounds.missing)) {
    wrong.push(`${holding} was held when an answer said that it is gone (${request.key})`);
  }
  const undisturbed = faultsBetween(history.faults, target, due, Math.max(due, done)).length === 0;
  return { target, due, done, undisturbed };
}

/**
 * Returns whether the end that Belay reported is later than the requested duration after the access was first reported
 * as active.
 */
function isLongerThanRequested({ expiresAt, activeAt, sentAt, duration }: AccessRequest, { clock }: History): boolean {
  if (expiresAt === null || activeAt === null) return false;
  // Every offset of the database's clock since the request, because the clock may have been stepped between grant and answer.
  const offsets = clock.filter(({ at }, index) => at <= activeAt && (clock[index + 1]?.at ?? activeAt) >= sentAt);
  const ahead = Math.max(0, ...offsets.map(({ offset }) => offset));
  return expiresAt > activeAt + ahead + duration + bounds.missing;
}

/** Returns a time as the seconds since the run began, as text. */
export function clockOf(history: History, at: number): string {
  return `${((at - history.startedAt) / 1_000).toFixed(1)} s`;
}
