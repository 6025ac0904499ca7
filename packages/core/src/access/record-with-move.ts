import { executeBeside, executions, type SqlText, sqlText } from '@belay/db';
import {
  isFinal,
  type PreparedMove,
  prepareMove,
  prepareTurn,
  releases,
  retryDeadlock,
  wakeSteps,
  writing,
} from '@belay/engine';
import type { Outcome } from '@belay/workflow';
import type { Context, Job } from '../context.js';
import { notifying } from '../ledger/append.js';
import type { Claimed, Concern } from './claimed.js';
import { type Called, type RecordedRow, recording, tellMeter } from './record-results.js';
import { expiryAfter, isLiveOf, overAtIn } from './wanted.js';

/**
 * Records a confirmed call together with the next move of the one execution that waits for it, in one commit: a grant
 * with its resolved step, a loss with the end of what waited for the access. Returns false, and writes nothing, when
 * there is no such move, the rows are not as the claim left them or the execution has moved since; then the result is
 * recorded without a move (`recordResults`).
 */
export async function recordWithMove(ctx: Context, called: Called): Promise<boolean> {
  const { concern } = called.claim;
  if (!concern) return false;
  const prepared = await prepare(ctx, called.claim, concern);
  if (!prepared) return false;
  const { move, at } = prepared;
  // Such a move also ends grants, in a separate statement under the execution's lock.
  if (releases(move)) return false;
  const keys = [move.execution.id, called.claim.id];
  const statement = recordingWith(ctx, called, move, at);
  const rows = await retryDeadlock(() => executeBeside<RecordedRow>(ctx.db, statement, keys));
  if (rows.length === 0) return false;
  ctx.crashpoint('recorded with its move');
  tellMeter(ctx, called.claim.task, rows);
  const { id, provider } = called.claim;
  const due: Job[] = rows
    .slice(0, 1)
    .map((row) => ({ queue: 'entitlements', entitlementId: id, provider, dueAt: new Date(row.due) }));
  ctx.waker.wake([...move.jobs, ...due]);
  // An active grant resolves its own step and no other; other parked calls may wait for a loss, too.
  const moved = called.claim.task === 'grant' || isFinal(move.status) ? move.execution.id : null;
  const others = rows.flatMap(({ execution }) => (execution === null || execution === moved ? [] : [execution]));
  await wakeSteps(ctx, others);
  return true;
}

/**
 * Returns the record and the move as one statement, which writes both or nothing. It locks the execution at the
 * version of the move, the grants and the entitlement, in this order; each is checked again under its lock. A move
 * that ends the execution deletes the steps that the statement saw at its start: a mark that was made while the
 * statement waited for the lock stays, and the turn that finds the mark deletes it.
 */
function recordingWith(ctx: Context, called: Called, move: PreparedMove, at: Date | null): SqlText {
  const { execution, version } = move;
  const { task } = called.claim;
  // One after the other: the locks, the move, the record. When one finds its row changed, nothing after it is written.
  const { locks, writes, columns, from } = recording(ctx, task, [called], {
    at,
    before: sqlText`exists (select from current)`,
    then: sqlText`exists (select from moved)`,
  });
  const current = sqlText`current as (
    select id from ${executions} where id = ${execution.id} and version = ${version} and ended_at is null for update)`;
  // The end of a grant that becomes active here is in `touched`; the other live grants keep theirs.
  const end = sqlText`(select max(coalesce(touched.ends, ${overAtIn('g')})) from grants g left join touched using (id)
    where ${isLiveOf(sqlText`moved.id`, 'g')})`;
  // A grant whose time ended during the call does not start any more, and its step is not resolved.
  const begins =
    task === 'grant' ? sqlText`and exists (select from touched where execution_id = ${execution.id})` : sqlText``;
  return writing(ctx, move, {
    before: [current, ...locks],
    when: sqlText`exists (select from judged where settled) ${begins}`,
    after: [...writes, sqlText`heard as (${notifying()})`],
    told: sqlText`told`,
    ...(task === 'grant' ? { until: end } : {}),
    returning: sqlText`select ${columns}, (select count(*) from notified) + (select count(*) from heard) as heard ${from}`,
  });
}

/** Returns the execution's move, or null without one. `at` is when the grant becomes active, by its outcome; null without a grant. */
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
    return outcomeOf(claim, now, expiryAfter(now, grant.duration));
  };
  const move = await prepareMove(ctx, executionId, grant.stepKey, outcome);
  return move && { move, at };
}

/** Returns the outcome that `settleGrants` reads from the rows, for a step with this one grant. */
function outcomeOf({ provider, name }: Claimed, at: Date, expires: Date): Outcome {
  const expires_at = expires.toISOString();
  const held = [{ provider, ...name, expires_at }];
  return { ok: true, value: { granted_at: at.toISOString(), expires_at, grants: held } };
}
