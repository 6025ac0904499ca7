import { execute, reachable, runs, type SqlText, sqlText } from '@belay/db';
import type { Store } from '../context.js';

/**
 * Notes that a server can be reached: the time since the last note counts, and of an outage only its beginning.
 * Called every few seconds by every process that listens. Writes nothing while there are no runs.
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
 * Returns the SQL for the reading of `reachable` now, in a statement that reads its row. Every note moves the reading, so
 * that a lease ends also beside servers that are too busy to note in time.
 */
export function readingNow({ timing }: Pick<Store, 'timing'>): SqlText {
  const outage = `${timing.run.outage} milliseconds`;
  return sqlText`(milliseconds + case when app_now() < seen_at then 0
    else floor(extract(epoch from least(app_now() - seen_at, ${outage}::interval)) * 1000)::bigint end)`;
}
