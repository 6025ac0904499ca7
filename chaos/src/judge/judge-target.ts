import type { AccessRequest, History } from '../history.js';
import { bounds } from './bounds.js';
import { deadline, faultsBetween } from './deadlines.js';
import { gaps, type Holding, type Stray, targetOf } from './holdings.js';

/** One revocation, as the target showed it. */
export interface Revocation {
  target: string;
  /** When it had to be gone, and when it last was not. */
  due: number;
  done: number;
  /** Whether a fault was going on, or had just been healed, that may be a reason. */
  undisturbed: boolean;
}

/** Judges rules 1 to 4 and 7, and who won the races of timers, from what the target held. Returns what is wrong, and how late revocations were. */
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

/** A workflow that races timers ends without a grant when a longer one wins. */
function hasLongerWon({ request: { races, final, endSentAt }, held }: Holding): boolean {
  return races && held.length === 0 && endSentAt === null && final?.status === 'completed';
}

/** What was allowed to be granted is granted in time, unless it was ended before. */
function judgeStart(history: History, { request, holding, held }: Holding, wrong: string[]): void {
  const { mayHoldFrom: due, final, endSentAt } = request;
  if (due === null || final === null || final.state === 'cancelled' || final.status === 'faulted') return;
  const [first] = held;
  if (!first && endSentAt !== null) return;
  const done = first?.from ?? history.endedAt;
  // Without a fault a grant has as long as it has after one: how fast it is, is a figure and not a promise.
  const late = bounds.afterFault;
  // A request for several targets is granted at none before each of them was asked (R2), so it waits for the slowest.
  const latest = Math.max(
    ...request.holdings.map((each) =>
      deadline(history.faults, { target: targetOf(each), due, done, requestedAt: request.sentAt, late }),
    ),
  );
  if (done > latest) {
    wrong.push(`${holding} was granted ${done - due} ms after it was due (${request.key})`);
  }
}

/** What was acknowledged as active is held until it may end. */
function judgeMissing(
  history: History,
  { request, holding, target, held, mayEndFrom }: Holding,
  wrong: string[],
): void {
  if (request.activeAt === null || mayEndFrom === null || mayEndFrom <= request.activeAt) return;
  const span = { from: request.activeAt, to: mayEndFrom - bounds.missing };
  // Where nothing was sampled, nothing is known.
  for (const gap of gaps(span, [...held, ...history.blind])) {
    const disturbed = faultsBetween(history.faults, target, gap.from, gap.to).length > 0;
    const allowed = disturbed ? bounds.afterFault : bounds.missing;
    const took = gap.to - gap.from;
    if (took > allowed) {
      wrong.push(`${holding} was missing for ${took} ms at ${clockOf(history, gap.from)} (${request.key})`);
    }
  }
}

/** What has ended is not held any more. */
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
  // A sample is dated when its answer came, which may be some milliseconds after it was true.
  if (goneAt !== null && held.some(({ from, to }) => from < goneAt && to > goneAt + bounds.missing)) {
    wrong.push(`${holding} was held when an answer said that it is gone (${request.key})`);
  }
  const undisturbed = faultsBetween(history.faults, target, due, Math.max(due, done)).length === 0;
  return { target, due, done, undisturbed };
}

/** The end is an answer of Belay; it may come no later than the duration after it was said to be active. */
function isLongerThanRequested({ expiresAt, activeAt, sentAt, duration }: AccessRequest, { clock }: History): boolean {
  if (expiresAt === null || activeAt === null) return false;
  // The database's clock at any time since the request, since one of its steps may have come between grant and answer.
  const offsets = clock.filter(({ at }, index) => at <= activeAt && (clock[index + 1]?.at ?? activeAt) >= sentAt);
  const ahead = Math.max(0, ...offsets.map(({ offset }) => offset));
  return expiresAt > activeAt + ahead + duration + bounds.missing;
}

/** Returns the seconds since the run began. */
export function clockOf(history: History, at: number): string {
  return `${((at - history.startedAt) / 1_000).toFixed(1)} s`;
}
