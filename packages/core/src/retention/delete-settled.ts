import { approvals, execute, lookups, messages, notices, runs, type SqlText, sqlText } from '@belay/db';
import { grantsWait } from '../access/restore/gate.js';
import type { Context } from '../context.js';
import { isOver } from './lines.js';

/** The maximum number of slices of each table that one call deletes; the next call deletes the others. */
const mostSlices = 20;

/**
 * Deletes lookups, and runs, messages and notices of requests that have been over for some time: no code needs them any more, and the
 * ledger has what happened. Deletes in slices, so that no lock is held for long; several workers take different rows.
 * Deletes nothing while a restored database waits to be compared. Returns how many rows it deleted.
 */
export async function deleteSettled(ctx: Context): Promise<number> {
  const { after, slice } = ctx.timing.settled;
  const before = sqlText`(app_now() - ${`${after} milliseconds`}::text::interval)`;
  let total = 0;
  // Notices last, because messages refer to them.
  for (const deleting of [deletingRuns, deletingMessages, deletingNotices, deletingLookups]) {
    for (let nth = 0; nth < mostSlices; nth += 1) {
      const [row] = await execute<{ count: number }>(
        ctx.db,
        sqlText`with gone as (${deleting(before, slice)} returning 1) select count(*)::int as count from gone`,
      );
      const count = row?.count ?? 0;
      total += count;
      if (count < slice) break;
    }
  }
  return total;
}

function deletingRuns(before: SqlText, slice: number): SqlText {
  return sqlText`
    delete from ${runs} where id in (
      select r.id from ${runs} r
      where r.settled_at < ${before} and ${isOver(sqlText`r.execution_id`, before)} and not ${grantsWait}
      order by r.settled_at limit ${slice} for update of r skip locked)`;
}

/**
 * Deletes only messages closed earlier than `before`: no message is revised, or loses its buttons, so long after that.
 */
function deletingMessages(before: SqlText, slice: number): SqlText {
  return sqlText`
    delete from ${messages} where id in (
      select m.id from ${messages} m
      left join ${approvals} a on a.id = m.approval_id left join ${notices} n on n.id = m.notice_id
      where m.closed_at < ${before} and (a.closed_at < ${before} or a.id is null)
        and ${isOver(sqlText`coalesce(m.execution_id, a.execution_id, n.execution_id)`, before)} and not ${grantsWait}
      order by m.closed_at limit ${slice} for update of m skip locked)`;
}

function deletingNotices(before: SqlText, slice: number): SqlText {
  return sqlText`
    delete from ${notices} where id in (
      select n.id from ${notices} n
      where n.told_at < ${before} and not exists (select from ${messages} m where m.notice_id = n.id)
        and ${isOver(sqlText`n.execution_id`, before)} and not ${grantsWait}
      order by n.told_at limit ${slice} for update of n skip locked)`;
}

/** Deletes lookups of people who make none any more: `count_lookup` deletes those of the others. */
function deletingLookups(before: SqlText, slice: number): SqlText {
  return sqlText`
    delete from ${lookups} where id in (
      select id from ${lookups} where at < ${before} order by id limit ${slice} for update skip locked)`;
}
