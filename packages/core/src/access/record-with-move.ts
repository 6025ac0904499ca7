import { executions } from '@belay/db';
import type { Json, Outcome } from '@belay/workflow';
import { eq } from 'drizzle-orm';
import type { Context, Hint } from '../context.js';
import { retryDeadlock } from '../deadlock.js';
import { isFinal } from '../executions/runtime/final.js';
import { prepareMove, prepareTurn } from '../executions/runtime/prepare-move.js';
import { type PreparedMove, writePrepared } from '../executions/runtime/prepared.js';
import type { Claimed, Concern } from './claimed.js';
import { isAsClaimed } from './decide.js';
import { type Called, recordCalls } from './record-together.js';
import { ignoreRollback } from './rollback.js';
import { wakeSteps } from './wake-steps.js';

/**
 * Records what came of a call together with the next move of the one execution that waits for it, in one commit: a grant with its
 * resolved step, a loss with the end of what waited for the access. Returns false, and nothing is written, when the rows are
 * not as the claim left them or the execution has moved since; then each is recorded by itself.
 */
export async function recordWithMove(ctx: Context, called: Called): Promise<boolean> {
  const { concern } = called.claim;
  if (!concern || !isAsClaimed(called.claim.task, called.held)) return false;
  const prepared = await prepare(ctx, called.claim, concern);
  if (!prepared) return false;
  const { move, at } = prepared;
  const before = move.hints.length;
  const rows = await retryDeadlock(() => {
    move.hints.length = before;
    return ctx.db.transaction(async (tx) => {
      // Lock order: the execution, grants, entitlements. The move is written last, because it reads when the access ends.
      const { id } = move.execution;
      await tx.select({ id: executions.id }).from(executions).where(eq(executions.id, id)).for('update');
      const recorded = await recordCalls(ctx, tx, called.claim.task, [called], at);
      if (recorded.length === 0 || !(await writePrepared(tx, move, { locked: true }))) tx.rollback();
      return recorded;
    });
  }).catch(ignoreRollback);
  if (!rows) return false;
  ctx.crashpoint('recorded with its move');
  const { id, provider } = called.claim;
  const due: Hint[] = rows
    .slice(0, 1)
    .map((row) => ({ queue: 'entitlements', entitlementId: id, provider, dueAt: new Date(row.due) }));
  ctx.waker.wake([...move.hints, ...due]);
  // A grant that is active resolves its own step and no other; a loss may be what another parked call waits for, too.
  const moved = called.claim.task === 'grant' || isFinal(move.status) ? move.execution.id : null;
  const others = rows.flatMap(({ execution }) => (execution === null || execution === moved ? [] : [execution]));
  await wakeSteps(ctx, others);
  return true;
}

/** What the execution makes of it, and when that is: a grant's clock starts at the time that the outcome tells. */
async function prepare(
  ctx: Context,
  claim: Claimed,
  { executionId, grant }: Concern,
): Promise<{ move: PreparedMove; at: Date | null } | null> {
  if (!grant) {
    const move = await prepareTurn(ctx, executionId);
    return move && { move, at: null };
  }
  let at: Date | null = null;
  const outcome = (now: Date) => {
    at = now;
    return outcomeOf(claim, now, new Date(now.getTime() + grant.duration));
  };
  const move = await prepareMove(ctx, executionId, grant.stepKey, outcome);
  return move && { move, at };
}

/** As `settleGrants` reads it from the rows, for a step with this one grant. */
function outcomeOf({ provider, identity, access }: Claimed, at: Date, expires: Date): Outcome {
  const expires_at = expires.toISOString();
  const held = [{ provider, identity, access: access as Json, expires_at }];
  return { ok: true, value: { granted_at: at.toISOString(), expires_at, grants: held } };
}
