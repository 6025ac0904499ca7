import { archivedBlocks, execute, ledger, ledgerArchives, type SqlText, sqlText } from '@belay/db';
import { grantsWait } from '../access/restore/gate.js';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { hasLive, lineOf } from './lines.js';

/** The maximum number of blocks that one call deletes; the next call deletes the others. */
const most = 200;

/**
 * Deletes archived entries of months that have been over for the time of `server.retention.ledger`; nothing without this
 * setting, or while a restored database waits to be compared. One statement for each block counts its entries and compares
 * their digest with that of the archive: when an entry was added, removed or changed, the block is kept, which is
 * reported once. A block with an entry of a request that is not over is kept too. Returns how many entries were
 * deleted.
 */
export async function deleteArchived(ctx: Context): Promise<number> {
  const after = ctx.catalog.current().retention.ledger;
  if (after === null) return 0;
  const due = await execute<{ archive: string; nth: number }>(
    ctx.db,
    sqlText`
    select b.archive, b.nth from ${archivedBlocks} b join ${ledgerArchives} a on a.digest = b.archive
    where b.changed_at is null and not ${grantsWait} and ((a.month || '-01')::date + interval '1 month') at time zone 'UTC'
      <= app_now() - ${`${after} milliseconds`}::text::interval
    order by b.first_at, b.first_seq limit ${most}`,
  );
  let total = 0;
  for (const block of due) total += await deleteBlock(ctx, block);
  await finish(ctx);
  return total;
}

async function deleteBlock(ctx: Context, { archive, nth }: { archive: string; nth: number }): Promise<number> {
  const [row] = await execute<{ deleted: number; changed: boolean }>(ctx.db, deletingBlock(archive, nth));
  ctx.crashpoint('block deleted');
  if (row?.changed) await tellChanged(ctx, archive, nth);
  return row?.deleted ?? 0;
}

/** Returns the statement that deletes a block. It has one snapshot, so an entry that is written meanwhile is not deleted unseen. */
function deletingBlock(archive: string, nth: number): SqlText {
  return sqlText`
    with block as materialized (
      select * from ${archivedBlocks} where archive = ${archive} and nth = ${nth} and changed_at is null and not ${grantsWait}
      for update skip locked),
    entries as materialized (
      select l.ctid as place, l.at, l.seq, l.execution_id, ${lineOf} as line from block b join ${ledger} l
        on (l.at, l.seq) >= (b.first_at, b.first_seq) and (l.at, l.seq) <= (b.last_at, b.last_seq)),
    compared as materialized (
      select b.rows = (select count(*) from entries) and b.digest = (
        select encode(sha256(convert_to(string_agg(line || E'\n', '' order by at, seq), 'UTF8')), 'hex') from entries) as same
      from block b),
    settled as materialized (select same is true and not ${hasLive(sqlText`entries`)} as whole from compared),
    gone as (
      delete from ${ledger} where ctid = any(array(select place from entries)) and (select whole from settled) returning 1),
    done as (
      delete from ${archivedBlocks} where archive = ${archive} and nth = ${nth} and (select whole from settled)),
    marked as (
      update ${archivedBlocks} set changed_at = app_now()
      where archive = ${archive} and nth = ${nth} and (select same is not true from compared))
    select (select count(*)::int from gone) as deleted, coalesce((select same is not true from compared), false) as changed`;
}

const actor = { kind: 'system', name: 'retention' } as const;

async function tellChanged(ctx: Context, archive: string, nth: number): Promise<void> {
  ctx.log.warn({ archive, block: nth }, 'entries of the ledger differ from their archive; archive them again');
  await appendLedger(ctx.db, [
    {
      type: 'ledger.kept',
      level: 'warning',
      message: 'Archived entries are kept, because they differ from their archive; archive the ledger again',
      actor,
      data: { sha256: archive, block: nth },
    },
  ]);
}

/** Records, once for each archive, that all of its entries were deleted here. */
async function finish(ctx: Context): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const done = await execute<{ month: string; digest: string }>(
      tx,
      sqlText`
      update ${ledgerArchives} a set deleted_at = app_now() where a.deleted_at is null
        and not exists (select from ${archivedBlocks} b where b.archive = a.digest)
      returning month, digest`,
    );
    await appendLedger(
      tx,
      done.map(({ month, digest }) => ({
        type: 'ledger.deleted',
        message: `The archived entries of ${month} were deleted`,
        actor,
        data: { month, sha256: digest },
      })),
    );
  });
}
