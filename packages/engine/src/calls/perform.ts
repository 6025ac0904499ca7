import { pauseAfter } from '@belay/contract/back-off';
import { steps } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import { and, eq, sql } from 'drizzle-orm';
import { unknownFunction } from '../faults.js';
import type { ClaimedCall, EngineContext, Performed } from '../ports.js';
import { advanceStep } from '../steps/advance.js';
import { claimCall } from '../steps/claim.js';
import { claiming } from '../steps/lost-claims.js';
import { parked } from '../steps/park.js';
import { type FailedStep, putBack } from '../steps/put-back.js';
import type { Snapshot } from '../steps/snapshot.js';
import { TURN } from '../steps/turn-row.js';
import { traced } from '../traced.js';
import type { Serve } from '../turns/decide-turn.js';
import { inSeries, type Series } from '../turns/series.js';
import { keepOutcome, resolveCall, takeTurn } from '../turns/take-turn.js';
import { writeAlone } from '../turns/write-alone.js';

/** How many calls in a row one job performs before other jobs have their turn. */
const streak = 50;

interface TurnLease {
  leased?: boolean | Snapshot;
  claimId?: string;
  serve?: Serve | undefined;
}

/**
 * Does what is due at a step: claims a call and performs it outside any transaction, or takes the execution's turn when there is
 * something to apply. A single call that this opens is performed immediately. Succeeds when there is nothing to do
 * (docs/architecture.md, sections 5 and 7). `leased` means that the caller holds the turn's lease, under the id `claimId`: that of
 * the mark, or of the step whose outcome the turn applies. For a first turn it may be the snapshot that the turn would read; `serve` has outcomes
 * that the caller knows.
 */
export async function performStep(
  ctx: EngineContext,
  input: { executionId: string; key: string },
  lease: TurnLease = {},
): Promise<void> {
  const isTurn = input.key === TURN || lease.leased !== undefined;
  const claimed = isTurn ? null : await claimCall(ctx, input.executionId, input.key);
  await goOn(ctx, claimed ?? (await takeTurns(ctx, input, lease)), { done: 1, keep: true });
}

/** Takes the turn of an execution and those that follow it. Returns the call that the last one opened, claimed for the caller. */
async function takeTurns(
  ctx: EngineContext,
  input: { executionId: string; key: string },
  lease: TurnLease,
): Promise<ClaimedCall | null> {
  const { executionId } = input;
  return inSeries(ctx, { executionId, keep: true }, async (series) => {
    const call = await takeTurnOf(ctx, input, { ...lease, series });
    return call ?? takeRest(ctx, executionId, { claim: true, series });
  });
}

async function takeTurnOf(
  ctx: EngineContext,
  input: { executionId: string; key: string },
  { leased = false, claimId, serve, series }: TurnLease & { series: Series },
): Promise<ClaimedCall | null> {
  const claimIds = claimId === undefined ? [] : [claimId];
  try {
    const take = () => takeTurn(ctx, input.executionId, { claim: true, leased, serve, series });
    const call = await claiming(ctx, claimIds, take);
    return call && { ...call, claimIds: [...call.claimIds, ...claimIds] };
  } catch (error) {
    await putBackOrThrow(ctx, { ...input, claimId }, error);
    return null;
  }
}

/**
 * Puts a step back after an internal error. Throws the error when the step was not put back, and when the error is an outage,
 * because the worker then waits for the database.
 */
async function putBackOrThrow(ctx: EngineContext, step: FailedStep, error: unknown): Promise<void> {
  // When the database is not reachable, this fails with the same outage.
  const isBack = await putBack(ctx, step, error).catch(() => false);
  if (!isBack || ctx.host.isOutage(error)) throw error;
}

/**
 * Performs a call and the calls that follow it. Uses the place of the caller, until one of them calls systems. `keep` means that this is
 * a place of executions, in which turns may follow.
 */
async function goOn(
  ctx: EngineContext,
  first: ClaimedCall | null,
  from: { done: number; keep: boolean },
): Promise<void> {
  const { keep } = from;
  let call = first;
  for (let { done } = from; call; done += 1) {
    const claimed = call;
    if (handOn(ctx, claimed, (inTime) => performHanded(ctx, claimed, { inTime, done }))) return;
    call = await holding(ctx, claimed, () => performCall(ctx, claimed, { claim: done < streak, keep }));
  }
}

/**
 * Does work under the claim of a call. When the work fails, puts the call back, or releases its claim after an outage:
 * otherwise the call would have to wait for the end of its lease.
 */
async function holding<T>(ctx: EngineContext, call: ClaimedCall, work: () => Promise<T>): Promise<T | null> {
  try {
    return await claiming(ctx, call.claimIds, work);
  } catch (error) {
    if (ctx.host.isOutage(error)) throw error;
    const { executionId, key, attempt } = call;
    await putBackOrThrow(ctx, { executionId, key, attempt }, error);
    return null;
  }
}

/** Performs a call in the bulkhead of the systems that it calls, or postpones it when they are busy. */
async function performHanded(
  ctx: EngineContext,
  call: ClaimedCall,
  how: { inTime: boolean; done: number },
): Promise<void> {
  if (how.inTime) {
    const next = await holding(ctx, call, () => performCall(ctx, call, { claim: how.done < streak, keep: false }));
    return goOn(ctx, next, { done: how.done + 1, keep: false });
  }
  await holding(ctx, call, async () => {
    if (!(await writePending(ctx, call))) return;
    await putOff(ctx, call, { after: backoffOf(ctx, call), because: 'a system that other calls wait for' });
  });
}

async function performCall(
  ctx: EngineContext,
  call: ClaimedCall,
  options: { claim: boolean; keep: boolean },
): Promise<ClaimedCall | null> {
  const performed = await attemptCall(ctx, call);
  ctx.crashpoint('call performed');
  if (!(await writePending(ctx, call))) return null;
  if (performed.kind === 'parked') return null;
  if (performed.kind === 'again') {
    await putOff(ctx, call, performed);
    return null;
  }
  return resolve(ctx, call, performed.outcome, options);
}

/** Resolves a call and takes the turns that follow. While another turn of the execution is taken, stores the outcome for the next one. */
async function resolve(
  ctx: EngineContext,
  call: ClaimedCall,
  outcome: Outcome,
  { claim, keep }: { claim: boolean; keep: boolean },
): Promise<ClaimedCall | null> {
  const { executionId } = call;
  const resolved = await inSeries(ctx, { executionId, keep: claim && keep }, async (series) => {
    const next = await resolveCall(ctx, call, outcome, { claim, series });
    return { next: next ?? (await takeRest(ctx, executionId, { claim, series })) };
  });
  if (!resolved) await keepOutcome(ctx, call, outcome);
  return resolved?.next ?? null;
}

/** Takes the turns that follow in a series. Returns the call that the last one opened, claimed for the caller. */
async function takeRest(
  ctx: EngineContext,
  executionId: string,
  { claim, series }: { claim: boolean; series: Series },
): Promise<ClaimedCall | null> {
  let call: ClaimedCall | null = null;
  while (!call && series.continues) {
    series.continues = false;
    const { key = TURN, claimId } = series.held ?? {};
    const take = () => takeTurn(ctx, executionId, { claim, series });
    try {
      call = await claiming(ctx, claimId === undefined ? [] : [claimId], take);
    } catch (error) {
      await putBackOrThrow(ctx, { executionId, key, claimId }, error);
      return null;
    }
  }
  return call;
}

async function attemptCall(ctx: EngineContext, call: ClaimedCall): Promise<Performed> {
  const fn = ctx.host.functions.get(call.name);
  if (!fn)
    return {
      kind: 'outcome',
      outcome: { ok: false, fault: unknownFunction(call.name) },
    };
  const asking = ctx.host.openCall(ctx, fn.asks?.(call) ?? []);
  try {
    // A parked call may already have what it waits for; then nothing is left to do.
    if (call.attempt > 1 && fn.progress) {
      if (await advanceStep(ctx, call.executionId, call.key)) return parked;
    }
    return await tracedCall(call, () => asking.untilStopped(fn.perform(ctx, call, asking.signal)));
  } catch (error) {
    asking.failed(error);
    const performed = interpretError(ctx, call, error);
    const atOnce = asking.overtaken() || (call.attempt === 1 && asking.lostAlone());
    return atOnce && performed.kind === 'again' ? { ...performed, after: 0 } : performed;
  } finally {
    asking.close();
  }
}

/** Performs a call in a span; a fault is recorded by its type. */
function tracedCall(call: ClaimedCall, perform: () => Promise<Performed>): Promise<Performed> {
  const { executionId, name, key, attempt } = call;
  const attributes = { 'belay.step.key': key, 'belay.step.attempt': attempt };
  return traced({ name: `step ${name}`, executionId, attributes }, async (fail) => {
    const performed = await perform();
    if (performed.kind === 'outcome' && !performed.outcome.ok) fail(performed.outcome.fault.type);
    return performed;
  });
}

/**
 * Returns what an error means: a call that may succeed later is retried; any other error is a fault for the workflow
 * (DSL, fault).
 */
function interpretError(ctx: EngineContext, call: ClaimedCall, error: unknown): Performed {
  const detail = { execution: call.executionId, step: call.key, attempt: call.attempt, error };
  const explained = ctx.host.explain(error);
  if (explained.kind === 'again') {
    if (explained.isOutage) ctx.host.noteOutage(ctx, error);
    else ctx.log.warn(detail, 'a call is postponed');
    return { ...explained, after: Math.max(backoffOf(ctx, call), explained.after ?? 0) };
  }
  if (!explained.expected) ctx.log.error(detail, 'a call failed');
  return { kind: 'outcome', outcome: { ok: false, fault: explained.fault } };
}

function backoffOf({ timing }: EngineContext, { attempt }: ClaimedCall): number {
  return pauseAfter(timing.grantBackoff, attempt);
}

async function putOff(
  ctx: EngineContext,
  call: ClaimedCall,
  performed: { after: number; because: string },
): Promise<void> {
  const [row] = await ctx.db
    .update(steps)
    .set({
      leaseUntil: null,
      failures: 0,
      waitingFor: performed.because,
      dueAt: sql`app_now() + ${`${performed.after} milliseconds`}::interval`,
    })
    .where(
      and(
        eq(steps.executionId, call.executionId),
        eq(steps.key, call.key),
        eq(steps.status, 'open'),
        eq(steps.attempt, call.attempt),
      ),
    )
    .returning({ dueAt: steps.dueAt });
  ctx.crashpoint('put off');
  if (row?.dueAt)
    ctx.waker.wake([{ queue: 'executions', executionId: call.executionId, key: call.key, dueAt: row.dueAt }]);
}

/**
 * Writes the move that opened a call, unless its function has written it with its own commit. Returns whether the call
 * is still open: false when the execution has moved since.
 */
async function writePending(ctx: EngineContext, call: ClaimedCall): Promise<boolean> {
  const { pending } = call;
  if (!pending) return true;
  call.pending = undefined;
  return writeAlone(ctx, pending);
}

/**
 * Moves a claimed call to the bulkhead of the systems that it calls, so that calls to a silent system take no places from
 * executions. Returns whether it was moved. `perform` receives whether a place was free in time.
 */
function handOn(ctx: EngineContext, call: ClaimedCall, perform: (inTime: boolean) => Promise<void>): boolean {
  const systems = ctx.host.functions.get(call.name)?.asks?.(call) ?? [];
  if (systems.length === 0 || !ctx.waker.hand) return false;
  ctx.waker.hand({ queue: 'calls', systems }, perform);
  return true;
}
