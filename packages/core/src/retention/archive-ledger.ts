import { createHash } from 'node:crypto';
import { AccessError } from '@belay/contract/errors';
import { archivedBlocks, execute, ledger, ledgerArchives, sqlText, type Transaction } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import { nameOf } from '../actor.js';
import type { ActorStore } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { requireAdministrator } from '../people/oversight.js';
import { blockRows, isLiveBetween, type Position, readLines } from './lines.js';

/** Entries that are archived, and later deleted, together. */
export interface Block {
  rows: number;
  /** SHA-256 of its lines. */
  sha256: string;
  first: Position;
  last: Position;
}

interface ArchivedMonth {
  /** `2026-01`, in UTC. */
  month: string;
  rows: number;
  sha256: string;
  /** The name of the file. */
  file: string;
}

/** Writes archives. `write` resolves when the file is on the disk and was read back; it leaves no incomplete file under its name. */
export interface ArchiveFiles {
  write(
    month: string,
    blocks: AsyncIterable<{ block: Block; text: string }>,
  ): Promise<{ rows: number; sha256: string; file: string; blocks: Block[] }>;
}

interface LedgerArchive {
  archived: ArchivedMonth[];
  /** Months that wait, because a request that is not over has entries in them. */
  waiting: string[];
}

/** How long a month has to be over before it is archived: its last transactions have ended, and clocks may differ a little. */
const margin = '1 day';

/**
 * Archives the entries of past months that are not archived yet, in one file for each month. A month waits while a
 * request that is not over has entries in it. Deletes nothing: workers delete entries after
 * `server.retention.ledger`, and only those whose digest is the archived one. Throws `forbidden`, and `conflict` when
 * another archive of the same entries was written meanwhile.
 */
export async function archiveLedger(ctx: ActorStore, files: ArchiveFiles): Promise<LedgerArchive> {
  requireAdministrator(ctx);
  await dropChanged(ctx);
  const result: LedgerArchive = { archived: [], waiting: [] };
  for (const month of await listMonths(ctx)) {
    if (await isArchived(ctx, month)) continue;
    if (await isLiveBetween(ctx.db, month.from, month.until)) {
      result.waiting.push(month.name);
      continue;
    }
    const written = await files.write(month.name, readBlocks(ctx, month));
    ctx.crashpoint('archive written');
    if (written.rows > 0) {
      await record(ctx, month, written);
      const { rows, sha256, file } = written;
      result.archived.push({ month: month.name, rows, sha256, file });
    }
  }
  return result;
}

interface Month {
  name: string;
  from: string;
  until: string;
}

function listMonths(ctx: ActorStore): Promise<Month[]> {
  return execute<Month>(
    ctx.db,
    sqlText`
    select to_char(month, 'YYYY-MM') as name, to_char(month, 'YYYY-MM-DD"T00:00:00.000Z"') as from,
      to_char(month + interval '1 month', 'YYYY-MM-DD"T00:00:00.000Z"') as until
    from generate_series(
      (select date_trunc('month', min(at) at time zone 'UTC') from ${ledger}),
      (app_now() - ${margin}::text::interval) at time zone 'UTC' - interval '1 month', interval '1 month') month
    order by month`,
  );
}

/**
 * Deletes the records of blocks that were found to differ from their archive, so that all entries of these blocks go
 * into the next file. Their rows no longer count for the archive, and an archive that has no other rows is deleted too:
 * otherwise these entries would count as deleted.
 */
async function dropChanged(ctx: ActorStore): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await execute(
      tx,
      sqlText`
      with dropped as (delete from ${archivedBlocks} where changed_at is not null returning archive, rows)
      update ${ledgerArchives} a set rows = a.rows - less.rows
      from (select archive, sum(rows) as rows from dropped group by archive) less where a.digest = less.archive`,
    );
    await tx.delete(ledgerArchives).where(eq(ledgerArchives.rows, 0));
  });
}

/** Returns whether a month is archived. Entries are deleted only together with their block, so equal counts mean the same entries. */
async function isArchived(ctx: ActorStore, { name, from, until }: Month): Promise<boolean> {
  const [row] = await execute<{ same: boolean }>(
    ctx.db,
    sqlText`
    select (select count(*) from ${ledger} where at >= ${from}::text::timestamptz and at < ${until}::text::timestamptz)
      = (select coalesce(sum(b.rows), 0) from ${archivedBlocks} b join ${ledgerArchives} a on a.digest = b.archive
          where a.month = ${name}) as same`,
  );
  return row?.same ?? false;
}

/** Reads the entries of a month that are in no block yet, in order, and returns them as blocks. */
async function* readBlocks(ctx: ActorStore, month: Month): AsyncGenerator<{ block: Block; text: string }> {
  const held = await execute<{ from: string; from_seq: number; to: string; to_seq: number }>(
    ctx.db,
    sqlText`
    select to_char(b.first_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as from, b.first_seq::float8 as from_seq,
      to_char(b.last_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as to, b.last_seq::float8 as to_seq
    from ${archivedBlocks} b join ${ledgerArchives} a on a.digest = b.archive
    where a.month = ${month.name} order by b.first_at, b.first_seq`,
  );
  let after: Position = { at: month.from, seq: -1 };
  for (const block of held) {
    yield* readGap(ctx, after, { at: block.from, seq: block.from_seq });
    after = { at: block.to, seq: block.to_seq };
  }
  yield* readGap(ctx, after, { at: month.until, seq: -1 });
}

async function* readGap(ctx: ActorStore, from: Position, until: Position) {
  let after = from;
  for (;;) {
    const lines = await readLines(ctx, after, until);
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) return;
    const text = lines.map(({ line }) => `${line}\n`).join('');
    const sha256 = createHash('sha256').update(text).digest('hex');
    yield { block: { rows: lines.length, sha256, first: toPosition(first), last: toPosition(last) }, text };
    if (lines.length < blockRows) return;
    after = last;
  }
}

function toPosition({ at, seq }: Position): Position {
  return { at, seq };
}

/** Records that a month is archived: its entries may be deleted from now on. */
async function record(
  ctx: ActorStore,
  { name }: Month,
  { rows, sha256, file, blocks }: Awaited<ReturnType<ArchiveFiles['write']>>,
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    await tx.execute(sql`lock table ${archivedBlocks} in share row exclusive mode`);
    if (await overlaps(tx, name, blocks))
      throw new AccessError(
        'conflict',
        `Another archive of ${name} was written meanwhile; nothing is deleted for this one`,
      );
    const again = { rows, archivedAt: sql`app_now()`, deletedAt: null };
    const archive = { digest: sha256, month: name, rows };
    await tx.insert(ledgerArchives).values(archive).onConflictDoUpdate({ target: ledgerArchives.digest, set: again });
    await execute(
      tx,
      sqlText`
      insert into ${archivedBlocks} (archive, nth, rows, digest, first_at, first_seq, last_at, last_seq)
      select ${sha256}, nth + (select coalesce(max(nth), 0) from ${archivedBlocks} where archive = ${sha256}), (b ->> 'rows')::int, b ->> 'sha256', (b #>> '{first,at}')::timestamptz, (b #>> '{first,seq}')::bigint,
        (b #>> '{last,at}')::timestamptz, (b #>> '{last,seq}')::bigint
      from jsonb_array_elements(${JSON.stringify(blocks)}::text::jsonb) with ordinality as one (b, nth)`,
    );
    await appendLedger(tx, [
      {
        type: 'ledger.archived',
        message: `${nameOf(ctx.actor)} archived ${rows} entries of ${name}`,
        actor: ctx.actor,
        data: { month: name, rows, sha256, file },
      },
    ]);
  });
}

async function overlaps(tx: Transaction, month: string, blocks: readonly Block[]): Promise<boolean> {
  const [row] = await execute<{ taken: boolean }>(
    tx,
    sqlText`
    select exists (
      select from jsonb_to_recordset(${JSON.stringify(blocks)}::text::jsonb) as given (first jsonb, last jsonb)
      join ${archivedBlocks} b on (b.first_at, b.first_seq) <= ((last ->> 'at')::timestamptz, (last ->> 'seq')::bigint)
        and (b.last_at, b.last_seq) >= ((first ->> 'at')::timestamptz, (first ->> 'seq')::bigint)
      join ${ledgerArchives} a on a.digest = b.archive and a.month = ${month}) as taken`,
  );
  return row?.taken ?? false;
}
