import { AccessError, notFound } from '@belay/contract/errors';
import type { Beat } from '@belay/contract/runs';
import { execute, reachable, runs, sqlText } from '@belay/db';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { readingNow } from './reachable.js';

/**
 * Keeps a run: its lease starts again. Throws `not_found` for a run of another person, and `conflict` when the run has
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
