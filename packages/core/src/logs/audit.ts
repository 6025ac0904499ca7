import type { AuditEntry, AuditFilter, AuditPage } from '@belay/contract/admin';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { endOfMoment, startOfMoment } from '@belay/contract/moments';
import type { PageOf } from '@belay/contract/paging';
import { executions, ledger, type Transaction, users } from '@belay/db';
import { and, type Column, desc, eq, getTableColumns, gte, inArray, lte, or, type SQL, sql } from 'drizzle-orm';
import { nameOf } from '../actor.js';
import type { Actor, ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { idsKnownAs } from '../people/known.js';
import { requireOverseer } from '../people/oversight.js';

/** How many entries one page searches at most: a filter that few entries match must not read the whole ledger. */
const searched = 10_000;

/** Within this time of a recorded reading, pages of the same list for the same person are part of it. */
const oneReading = '1 hour';

/**
 * Returns one page of the whole audit log, newest first (GET /admin/logs). A page searches a bounded number of entries,
 * so it can be short, or empty, and have a next one. The reading is recorded in the ledger before anything is returned. Throws
 * `forbidden`, and `invalid` for a cursor that is not of this list.
 */
export async function listAudit(ctx: ActorStore, input: AuditFilter & PageOf): Promise<AuditPage> {
  requireOverseer(ctx);
  const { limit = limits.page, cursor, ...filter } = input;
  const page = await readPage(ctx, filter, { limit: Math.min(limit, limits.page), before: placeOf(cursor) });
  if (!(await isRecorded(ctx, 'audit.read', filter))) await record(ctx, 'audit.read', filter);
  return page;
}

/**
 * Returns one page of an export as `listAudit` does (GET /admin/logs/export); its first page records the export in the
 * ledger, before anything is returned, and so does a later page that belongs to no recorded export.
 */
export async function exportAudit(
  ctx: ActorStore,
  input: AuditFilter & { cursor?: string | undefined; format?: 'csv' | undefined },
): Promise<AuditPage> {
  requireOverseer(ctx);
  const { cursor, format: _format, ...filter } = input;
  const before = placeOf(cursor);
  if (before === undefined || !(await isRecorded(ctx, 'audit.exported', filter)))
    await record(ctx, 'audit.exported', filter);
  return readPage(ctx, filter, { limit: limits.page, before });
}

type Reading = 'audit.read' | 'audit.exported';

/** Returns whether the caller, a person, has lately been recorded as reading or exporting the same entries. */
async function isRecorded(ctx: ActorStore, type: Reading, filter: AuditFilter): Promise<boolean> {
  const { actor } = ctx;
  if (actor.kind !== 'user') return false;
  const [recorded] = await ctx.db
    .select({ seq: ledger.seq })
    .from(ledger)
    .where(
      and(
        sql`${ledger.at} > app_now() - ${oneReading}::interval`,
        eq(ledger.type, type),
        eq(ledger.userId, actor.id),
        sql`${ledger.data} -> 'filter' = ${JSON.stringify(filter)}::jsonb`,
      ),
    )
    .limit(1);
  return recorded !== undefined;
}

async function record(ctx: ActorStore, type: Reading, filter: AuditFilter): Promise<void> {
  const { actor } = ctx;
  const verb = type === 'audit.read' ? 'read' : 'exported';
  await appendLedger(ctx.db, [
    {
      type,
      level: 'warning',
      message: `${nameOf(actor)} ${verb} the audit log`,
      actor,
      ...(actor.kind === 'user' ? { userId: actor.id } : {}),
      data: { filter },
    },
  ]);
}

interface Place {
  /** Microseconds since 1970. */
  at: string;
  seq: string;
}

function placeOf(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [, at, seq] = /^(\d{1,17})\.(\d{1,18})$/.exec(cursor) ?? [];
  if (at === undefined || seq === undefined) throw invalid('cursor', 'is not a cursor of this list');
  return { at, seq };
}

const micros = sql<string>`(extract(epoch from ${ledger.at}) * 1000000)::bigint`;
const place = sql`(${ledger.at}, ${ledger.seq})`;
const rowOf = ({ at, seq }: Place): SQL =>
  sql`(timestamptz 'epoch' + ${at}::bigint * interval '1 microsecond', ${seq}::bigint)`;

async function readPage(
  ctx: ActorStore,
  filter: AuditFilter,
  { limit, before }: { limit: number; before: Place | undefined },
): Promise<AuditPage> {
  const { execution_id: id, user } = filter;
  const people = user === undefined ? undefined : await idsKnownAs(ctx.db, user.trim());
  if (people?.length === 0 || (id !== undefined && !isId(id))) return { logs: [], next: null };
  const bounds = and(
    before && sql`${place} < ${rowOf(before)}`,
    filter.since === undefined ? undefined : gte(ledger.at, startOfMoment(filter.since)),
    filter.until === undefined ? undefined : lte(ledger.at, endOfMoment(filter.until)),
    // The entries of one execution have an index of their own. With other filters, a bounded number of entries is
    // searched.
    id === undefined ? undefined : eq(ledger.executionId, id),
  );
  const read = (db: Reader) => readEntries(db, { filter, people, bounds, limit });
  if (id !== undefined || !isNarrowed(filter)) return pageOf(await read(ctx.db), limit);
  // Both queries use one snapshot: an entry that is written between them would move the end of the searched range.
  return ctx.db.transaction(
    async (tx) => {
      const rows = await read(tx);
      return pageOf(rows, limit, rows.length > limit ? undefined : await findEnd(tx, bounds));
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}

type Reader = ActorStore['db'] | Transaction;

function readEntries(
  db: Reader,
  given: { filter: AuditFilter; people: string[] | undefined; bounds: SQL | undefined; limit: number },
) {
  const { filter, people, bounds, limit } = given;
  const whole = filter.execution_id === undefined;
  // The entries to search are selected first, by the index, so that no filter makes the planner use another one.
  const part = db
    .select({ ...getTableColumns(ledger), micros: micros.as('micros') })
    .from(ledger)
    .where(bounds)
    .orderBy(...(whole ? [desc(ledger.at), desc(ledger.seq)] : [desc(micros), desc(ledger.seq)]))
    .limit(isNarrowed(filter) ? searched : limit + 1)
    .as('part');
  return (
    db
      .select({
        at: part.at,
        seq: part.seq,
        micros: part.micros,
        type: part.type,
        level: part.level,
        message: part.message,
        actor: part.actor,
        provider: part.provider,
        executionId: part.executionId,
        data: part.data,
        // Looked up for each entry: a join could read all people instead.
        email: sql<string | null>`(select ${users.email} from ${users} where ${users.id} = ${part.userId})`,
        role: roleOf(part.executionId),
      })
      .from(part)
      .where(and(...matching(part, filter, people)))
      // In the order of the index, so that the search ends with the last entry of the page.
      .orderBy(...(whole ? [desc(part.at), desc(part.seq)] : [desc(part.micros), desc(part.seq)]))
      .limit(limit + 1)
  );
}

/** Returns a page. `rows` has one more row than the page when there are more. `end` is the place after which nothing was searched. */
function pageOf(rows: Awaited<ReturnType<typeof readEntries>>, limit: number, end?: Place): AuditPage {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const reached = rows.length > limit && last ? { at: last.micros, seq: String(last.seq) } : end;
  return { logs: shown.map(toEntry), next: reached ? `${reached.at}.${reached.seq}` : null };
}

/** Returns the last place that a page searches; undefined when fewer entries are left. */
async function findEnd(db: Reader, bounds: SQL | undefined): Promise<Place | undefined> {
  const [end] = await db
    .select({ at: micros, seq: sql<string>`${ledger.seq}::text` })
    .from(ledger)
    .where(bounds)
    .orderBy(desc(ledger.at), desc(ledger.seq))
    .offset(searched - 1)
    .limit(1);
  return end;
}

function roleOf(executionId: Column): SQL<string | null> {
  return sql`(select ${executions.input} ->> 'role' from ${executions} where ${executions.id} = ${executionId})`;
}

/** Returns whether entries are searched, and not only read in order. */
function isNarrowed({ type, level, provider, role, user }: AuditFilter): boolean {
  return [type, level, provider, role, user].some((given) => given !== undefined);
}

function matching(
  part: Record<'type' | 'level' | 'provider' | 'userId' | 'actor' | 'executionId', Column>,
  filter: AuditFilter,
  people: string[] | undefined,
): (SQL | undefined)[] {
  return [
    filter.type === undefined ? undefined : eq(part.type, filter.type),
    filter.level === undefined ? undefined : eq(part.level, filter.level),
    filter.provider === undefined ? undefined : eq(part.provider, filter.provider),
    filter.role === undefined ? undefined : eq(roleOf(part.executionId), filter.role),
    people && or(inArray(part.userId, people), inArray(sql`${part.actor} ->> 'id'`, people)),
  ];
}

type Row = Omit<typeof ledger.$inferSelect, 'entitlementId' | 'userId'> & { email: string | null; role: string | null };

function toEntry(entry: Row): AuditEntry {
  return {
    id: String(entry.seq),
    timestamp: entry.at.toISOString(),
    level: entry.level,
    type: entry.type,
    message: entry.message,
    actor: describe(entry.actor as Partial<Actor> & { system?: string }),
    user: entry.email ?? '',
    role: entry.role ?? '',
    provider: entry.provider ?? '',
    execution_id: entry.executionId ?? '',
    data: entry.data ?? null,
  };
}

/** Returns who acted: an operator by the account of the server's machine, which an auditor has to know. */
function describe(actor: Partial<Actor> & { system?: string }): string {
  if (actor.kind === 'user') return actor.email ?? '';
  if (actor.kind === undefined || actor.kind === 'system') return `system ${actor.system ?? actor.name ?? ''}`.trim();
  return `${actor.kind} ${actor.name ?? ''}`.trim();
}
