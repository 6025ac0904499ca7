import { AccessError, notFound } from '@belay/contract/errors';
import type { Beat } from '@belay/contract/runs';
import { execute, reachable, runs, type SqlText, sqlText } from '@belay/db';
import { requireUser } from '../actor.js';
import type { ActorStore, Store } from '../context.js';
import { isId } from '../find-execution.js';

/**
 * Starts the lease of a run again. Throws `not_found` for a run of another person, and `conflict` when the run has
 * ended: a heartbeat never brings a run back.
 */
export async function beatRun(ctx: ActorStore, { run_id: id }: { run_id: string }): Promise<Beat> {
  const user = requireUser(ctx);
  if (!isId(id)) throw notFound('The run');
  const [row] = await execute<{ live: boolean; lease: number }>(
    ctx.db,
    sqlText`
    with beaten as (
      update ${runs} r set due_at = reading.now + r.lease
      from (select ${readingNow(ctx)} as now from ${reachable}) as reading
      where r.id = ${id}::uuid and r.user_id = ${user.id}::uuid and r.ended_at is null returning r.id)
    select exists (select from beaten) as live from ${runs} where id = ${id}::uuid and user_id = ${user.id}::uuid`,
  );
  if (!row) throw notFound('The run');
  if (!row.live) throw new AccessError('conflict', 'The run has ended');
  return { status: 'ok', run_id: id };
}

/**
 * Records that a server can be reached. The time since the last record counts towards leases; of an outage, only the first
 * `timing.run.outage` counts. Called every few seconds by every process that listens. Writes nothing while there are no runs.
 */
export async function noteReachable(ctx: Store): Promise<void> {
  await execute(
    ctx.db,
    sqlText`
    update ${reachable} set milliseconds = ${readingNow(ctx)}, seen_at = app_now()
    where exists (select from ${runs} where settled_at is null)`,
  );
}

/**
 * Returns the present value of `reachable` as SQL, for a statement that reads its row. Every record increases the value, so
 * that leases also end when servers are too busy to record in time.
 */
export function readingNow({ timing }: Pick<Store, 'timing'>): SqlText {
  const outage = `${timing.run.outage} milliseconds`;
  return sqlText`(milliseconds + case when app_now() < seen_at then 0
    else floor(extract(epoch from least(app_now() - seen_at, ${outage}::interval)) * 1000)::bigint end)`;
}
