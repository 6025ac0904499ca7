import { steps } from '@belay/db';
import { Retryable } from '@belay/providers';
import { type Outcome, resolve } from '@belay/workflow';
import { and, eq, sql } from 'drizzle-orm';
import { publicMessage } from '../../access/authorizer.js';
import type { Context } from '../../context.js';
import { AccessError } from '../../errors.js';
import { faultOf } from '../../functions/faults.js';
import type { ClaimedCall, Performed } from '../../functions/function.js';
import { progressOf } from '../../functions/progress/table.js';
import { functions } from '../../functions/table.js';
import { isOutage } from '../../outage.js';
import { advanceStep } from './advance.js';
import { claimCall } from './claim.js';
import { commit } from './commit.js';
import { fireTimer } from './fire.js';

/** How many calls in a row one job performs before it lets others have their turn. */
const streak = 50;

/**
 * Performs a step that is due: claims it, does it outside any transaction, and resolves it with the machine's next state.
 * A single call that this opens is performed at once. Nothing to claim is success (design §5.3, §5.4).
 */
export async function performStep(ctx: Context, input: { executionId: string; key: string }): Promise<void> {
  let call = await claimCall(ctx, input.executionId, input.key);
  if (!call) {
    await fireTimer(ctx, input);
    return;
  }
  for (let done = 0; call && done < streak; done += 1) {
    const next: string | null = await performCall(ctx, call);
    if (next !== null && done + 1 === streak)
      ctx.waker.wake([{ queue: 'executions', executionId: call.executionId, key: next }]);
    call = next === null || done + 1 === streak ? null : await claimCall(ctx, call.executionId, next);
  }
}

async function performCall(ctx: Context, call: ClaimedCall): Promise<string | null> {
  const performed = await attemptCall(ctx, call);
  ctx.crashpoint('call performed');
  if (performed.kind === 'parked') return null;
  if (performed.kind === 'again') {
    await putOff(ctx, call, performed);
    return null;
  }
  return resolveCall(ctx, call, performed.outcome);
}

async function attemptCall(ctx: Context, call: ClaimedCall): Promise<Performed> {
  const fn = functions.get(call.name);
  if (!fn)
    return {
      kind: 'outcome',
      outcome: { ok: false, fault: faultOf(new AccessError('invalid', `There is no function "${call.name}"`)) },
    };
  try {
    // What a parked call waits for may have happened: then there is nothing left to do.
    if (call.attempt > 1 && progressOf.has(call.name)) {
      const settled = await settle(ctx, call);
      if (settled) return { kind: 'parked' };
    }
    return await fn.perform(ctx, call, AbortSignal.timeout(ctx.timing.callTimeout));
  } catch (error) {
    return interpretError(ctx, call, error);
  }
}

/** Lets the function look at the rows; true when the step is no longer open after it. */
async function settle(ctx: Context, call: ClaimedCall): Promise<boolean> {
  await advanceStep(ctx, call.executionId, call.key);
  const [row] = await ctx.db
    .select({ status: steps.status })
    .from(steps)
    .where(and(eq(steps.executionId, call.executionId), eq(steps.key, call.key)));
  return row?.status !== 'open';
}

/** A provider that may answer later, and our own database, are waited for; everything else is the workflow's business (DSL, fault). */
function interpretError(ctx: Context, call: ClaimedCall, error: unknown): Performed {
  const detail = { execution: call.executionId, step: call.key, attempt: call.attempt, error };
  if (error instanceof Retryable || isOurs(error)) {
    ctx.log.warn(detail, 'a call is put off');
    const backoff = Math.min(
      ctx.timing.grantBackoff.last,
      ctx.timing.grantBackoff.first * 2 ** Math.min(call.attempt - 1, 16),
    );
    const after = error instanceof Retryable ? Math.max(backoff, error.options.afterMilliseconds ?? 0) : backoff;
    return { kind: 'again', after, because: isOurs(error) ? 'the service itself' : publicMessage(error) };
  }
  if (!(error instanceof AccessError)) ctx.log.error(detail, 'a call failed');
  return { kind: 'outcome', outcome: { ok: false, fault: faultOf(error) } };
}

/** An error of Belay's own database: an outage passes, and a defect of Belay is not the workflow's fault either. */
function isOurs(error: unknown): boolean {
  if (isOutage(error)) return true;
  return error instanceof Error && (error.name === 'PostgresError' || error.constructor.name === 'DrizzleQueryError');
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

/** Resolves the step with its outcome, if the claim is still ours. Answers the call to go on with. */
async function resolveCall(ctx: Context, call: ClaimedCall, outcome: Outcome): Promise<string | null> {
  const committed = await commit(
    ctx,
    call.executionId,
    async (execution) => {
      if (execution.step?.attempt !== call.attempt) return null;
      const transition = await resolve(execution.definition, execution.state, call.key, outcome, execution.env);
      return { transition, resolved: { key: call.key, ok: outcome.ok }, actor: { kind: 'system', name: 'runtime' } };
    },
    { key: call.key, keepSingleCall: true },
  );
  return committed?.next ?? null;
}
