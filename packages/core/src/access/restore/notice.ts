import { causesOf } from '@belay/contract/outage';
import { clusters, execute, sqlText, type Transaction } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Store } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { closeGate } from './gate.js';

/** Identifies a database: its cluster, the timeline of the cluster, and the identifier of the database in it. */
interface Cluster {
  system: string;
  timeline: number;
  database: string;
}

/** Errors of a database server that cannot report its position: no permission, no such function, or it is a standby. */
const untold = ['0A000', '42501', '42883', '55000'];

const actor = { kind: 'system', name: 'restore' } as const;

/**
 * Notices that the database was restored to an earlier time, created again from a dump, or is a standby that was promoted
 * (docs/decisions/0028). Then no grant is made until every provider was compared with its rows, as after `beginRestore`;
 * grants are permitted again as soon as nothing is left to decide. Returns whether this process noticed a restore.
 */
export async function noticeRestore(ctx: Pick<Store, 'db' | 'log'>): Promise<boolean> {
  const here = await readCluster(ctx);
  if (!here) return false;
  const { known, ...cluster } = here;
  if (known && isSame(known, cluster)) return false;
  const noticed = await ctx.db.transaction(async (tx) => {
    // Only one of several processes writes. At the first start there is nothing to compare with.
    if (!(await noteCluster(tx, cluster)) || !known) return null;
    const reason = describe(known, cluster);
    const epoch = await closeGate(tx, { reason, noticed: true });
    await appendLedger(tx, [
      { type: 'restore.noticed', level: 'warning', message: `All grants wait: ${reason}`, actor, data: { epoch } },
    ]);
    return reason;
  });
  if (noticed === null) return false;
  ctx.log.warn(
    { reason: noticed },
    'the database was restored or replaced; nothing is granted until providers are compared',
  );
  return true;
}

/** Returns what identifies the database now, and what was stored last; null when the server does not report it. */
export async function readCluster(ctx: Pick<Store, 'db'>): Promise<(Cluster & { known: Cluster | null }) | null> {
  type Row = Cluster & { known: string | null };
  try {
    const [row] = await execute<Row>(
      ctx.db,
      sqlText`
      select control.system_identifier::text as system, here.oid::text as database,
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline,
        (select row_to_json(one)::text from (select system, timeline, database from ${clusters}) one) as known
      from pg_control_system() control, pg_database here where here.datname = current_database()`,
    );
    return row ? { ...row, known: row.known === null ? null : (JSON.parse(row.known) as Cluster) } : null;
  } catch (error) {
    if (causesOf(error).some((one) => 'code' in one && untold.includes(String(one.code)))) return null;
    throw error;
  }
}

/** Stores what identifies the database. Returns whether it differs from what was stored. */
export async function noteCluster(tx: Transaction, { system, timeline, database }: Cluster): Promise<boolean> {
  const rows = await tx
    .insert(clusters)
    .values({ system, timeline, database })
    .onConflictDoUpdate({
      target: clusters.one,
      set: { system, timeline, database },
      setWhere: sql`(${clusters.system}, ${clusters.timeline}, ${clusters.database}) is distinct from (${system}, ${timeline}::int, ${database})`,
    })
    .returning({ one: clusters.one });
  return rows.length > 0;
}

function isSame(one: Cluster, other: Cluster): boolean {
  return one.system === other.system && one.timeline === other.timeline && one.database === other.database;
}

function describe(known: Cluster, here: Cluster): string {
  if (known.system !== here.system) return 'the database is in another cluster than before';
  if (known.database !== here.database) return 'the database was created again';
  return `the database is on timeline ${here.timeline}, and was on ${known.timeline}: it was restored, or a standby was promoted`;
}
