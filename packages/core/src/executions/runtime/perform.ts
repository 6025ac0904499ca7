import { steps } from '@belay/db';
import { Retryable, Terminal } from '@belay/providers';
import { and, eq, sql } from 'drizzle-orm';
import { publicMessage } from '../../access/authorizer.js';
import { openCall } from '../../access/pulse.js';
import type { Context } from '../../context.js';
import { AccessError } from '../../errors.js';
import { faultOf } from '../../functions/faults.js';
import { type ClaimedCall, type Performed, parked } from '../../functions/function.js';
import { progressOf } from '../../functions/progress/table.js';
import { functions } from '../../functions/table.js';
import { isOwnFailure } from '../../outage.js';
import { untilStopped } from '../../until-stopped.js';
import { advanceStep } from './advance.js';
import { claimCall } from './claim.js';
import { handOn } from './hand-on.js';
import { writePending } from './pending.js';
import { putBack } from './put-back.js';
import type { Snapshot } from './snapshot.js';
import { resolveCall, takeTurn } from './take-turn.js';
import { TURN } from './turn-row.js';

/** How many calls in a row one job performs before it lets others have their turn. */
const streak = 50;

/**
 * Does what is due at a step: claims a call and performs it outside any transaction, or takes the execution's turn when there
 * is something to apply. A single call that this opens is performed at once. Nothing to do is success (design §5.3, §5.4).
 * `leased` says that the caller has the turn's lease; for a first turn also what it would read.
 */
export async function performStep(
  ctx: Context,
  input: { executionId: string; key: string },
  { leased = false }: { leased?: boolean | Snapshot } = {},
): Promise<void> {
  const claimed = input.key === TURN ? null : await claimCall(ctx, input.executionId, input.key);
  await goOn(ctx, claimed ?? (await takeTurnOf(ctx, input, leased)), 1);
}

async function takeTurnOf(
  ctx: Context,
  input: { executionId: string; key: string },
  leased: boolean | Snapshot,
): Promise<ClaimedCall | null> {
  try {
    return await takeTurn(ctx, input.executionId, { claim: true, leased });
  } catch (error) {
    // Should the database be away, then so is what would be found instead.
    await putBack(ctx, input).catch(() => {});
    throw error;
  }
}

/** Performs a call and those that it leads to, in the place of the caller until one asks systems. */
async function goOn(ctx: Context, first: ClaimedCall | null, from: number): Promise<void> {
  let call = first;
  for (let done = from; call; done += 1) {
    const claimed = call;
    if (handOn(ctx, claimed, (inTime) => performHanded(ctx, claimed, { inTime, done }))) return;
    call = await performCall(ctx, call, { claim: done < streak });
  }
}

/** Performs a call in the lane of the systems that it asks, or puts it off when they are busy. */
async function performHanded(ctx: Context, call: ClaimedCall, how: { inTime: boolean; done: number }): Promise<void> {
  if (how.inTime) return goOn(ctx, await performCall(ctx, call, { claim: how.done < streak }), how.done + 1);
  if (!(await writePending(ctx, call))) return;
  await putOff(ctx, call, { after: backoffOf(ctx, call), because: 'a system that others wait for' });
}

async function performCall(ctx: Context, call: ClaimedCall, options: { claim: boolean }): Promise<ClaimedCall | null> {
  const performed = await attemptCall(ctx, call);
  ctx.crashpoint('call performed');
  if (!(await writePending(ctx, call))) return null;
  if (performed.kind === 'parked') return null;
  if (performed.kind === 'again') {
    await putOff(ctx, call, performed);
    return null;
  }
  return resolveCall(ctx, call, performed.outcome, options);
}

async function attemptCall(ctx: Context, call: ClaimedCall): Promise<Performed> {
  const fn = functions.get(call.name);
  if (!fn)
    return {
      kind: 'outcome',
      outcome: { ok: false, fault: faultOf(new AccessError('invalid', `There is no function "${call.name}"`)) },
    };
  const asking = openCall(ctx, fn.asks?.(call) ?? []);
  try {
    // What a parked call waits for may have happened: then there is nothing left to do.
    if (call.attempt > 1 && progressOf.has(call.name)) {
      if (await advanceStep(ctx, call.executionId, call.key)) return parked;
    }
    return await untilStopped(fn.perform(ctx, call, asking.signal), asking.signal);
  } catch (error) {
    asking.failed(error);
    const performed = interpretError(ctx, call, error);
    return asking.overtaken() && performed.kind === 'again' ? { ...performed, after: 0 } : performed;
  } finally {
    asking.close();
  }
}

/** A provider that may answer later, and our own database, are waited for; everything else is the workflow's business (DSL, fault). */
function interpretError(ctx: Context, call: ClaimedCall, error: unknown): Performed {
  const detail = { execution: call.executionId, step: call.key, attempt: call.attempt, error };
  const ours = !(error instanceof Retryable || error instanceof Terminal) && isOwnFailure(error);
  // What was not available may be there later, whichever of our verbs noticed it.
  const missing = error instanceof AccessError && error.code === 'unavailable';
  if (ours || missing || error instanceof Retryable) {
    ctx.log.warn(detail, 'a call is put off');
    const backoff = backoffOf(ctx, call);
    const after = error instanceof Retryable ? Math.max(backoff, error.options.afterMilliseconds ?? 0) : backoff;
    return {
      kind: 'again',
      after,
      because: ours ? 'the service itself' : missing ? error.message : publicMessage(error),
    };
  }
  if (!(error instanceof AccessError)) ctx.log.error(detail, 'a call failed');
  return { kind: 'outcome', outcome: { ok: false, fault: faultOf(error) } };
}

function backoffOf({ timing }: Context, { attempt }: ClaimedCall): number {
  return Math.min(timing.grantBackoff.last, timing.grantBackoff.first * 2 ** Math.min(attempt - 1, 16));
}

async function putOff(ctx: Context, call: ClaimedCall, performed: { after: number; because: string }): Promise<void> {
  const [row] = await ctx.db
    .update(steps)
    .set({
      leaseUntil: null,
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
