import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { LogEntry, LogFilter, LogList, LogPage } from '@belay/contract/logs';
import { endOfMoment, startOfMoment } from '@belay/contract/moments';
import { actorOf, isAboutOthers, type LedgerLevel, ledger, rangeOf, taskEvents, users } from '@belay/db';
import { describeTaskEvent, kindOf } from '@belay/engine';
import { and, desc, eq, gte, inArray, isNull, lt, lte, notLike, type SQL, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { Actor, ActorStore, Store, UserActor } from '../context.js';
import { isId } from '../find-execution.js';
import { idsKnownAs } from '../people/known.js';

/** How many entries a response has at most, which is the limit of GET /logs. */
const most = limits.page;

/** Returns the newest log entries that the caller may see, newest first (docs/interface.md, section 10). */
export async function listLogs(ctx: ActorStore, input: LogFilter): Promise<LogList> {
  const { limit, ...filter } = input;
  const rows = await readLedger(ctx, requireUser(ctx), filter, { limit: Math.min(limit ?? most, most) });
  return { logs: rows.map(({ entry }) => entry) };
}

/**
 * Returns one page of all log entries that the caller may see, however old. The limit of GET /logs applies to a page
 * and not to the export. Throws `invalid` for a text that is not a cursor or not a time.
 */
export async function exportLogs(
  ctx: ActorStore,
  input: LogFilter & { cursor?: string | undefined },
): Promise<LogPage> {
  const { cursor, limit, ...filter } = input;
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
    throw invalid('cursor', 'is not a cursor issued by this server');
  const wanted = Math.min(limit ?? most, most);
  const before = cursor === undefined ? undefined : Number(cursor);
  const rows = await readLedger(ctx, requireUser(ctx), filter, { before, limit: wanted });
  const logs = rows.map(({ seq, entry }) => ({ ...entry, cursor: String(seq) }));
  return { logs, next: logs.length < wanted ? null : (logs.at(-1)?.cursor ?? null) };
}

/** Events of the system that concern all people and name no person. */
const everybodys = ['catalog.applied'];

/** The prefix of the event types that the DSL defines. */
const steps = 'io.serverlessworkflow.';

/**
 * Returns the newest entries that a person may see, before a position: entries about them and their requests, their
 * own acts, and entries that concern all people. Each part is read along an index, so the time does not grow with the
 * ledger.
 */
async function readLedger(
  ctx: Store,
  user: UserActor,
  filter: LogFilter,
  page: { before?: number | undefined; limit: number },
): Promise<{ seq: number; entry: LogEntry }[]> {
  if (filter.workflow_id !== undefined && !isId(filter.workflow_id)) return [];
  const since = readTime(filter.since, 'since', startOfMoment);
  const until = readTime(filter.until, 'until', endOfMoment);
  const notable = filter.level !== undefined && filter.level !== 'info';
  const shared: (SQL | undefined)[] = [
    page.before === undefined ? undefined : lt(ledger.seq, page.before),
    filter.level === undefined ? undefined : eq(ledger.level, filter.level),
    // Repeated in the form of an index's condition, so that the index is used.
    notable ? sql`${ledger.level} <> 'info'` : undefined,
    filter.provider === undefined ? undefined : eq(ledger.provider, filter.provider),
    filter.type === undefined ? undefined : eq(ledger.type, filter.type),
    since === undefined ? undefined : gte(ledger.at, since),
    until === undefined ? undefined : lte(ledger.at, until),
    filter.workflow_id === undefined ? undefined : eq(ledger.executionId, filter.workflow_id),
  ];
  // The order of the indexes. With another position of nulls, even where there are no nulls, all rows would be sorted.
  const bySeq = [sql`${ledger.seq} desc nulls last`];
  const walk = (where: readonly (SQL | undefined)[], order: readonly SQL[] = bySeq) =>
    ctx.db
      .select({ entry: ledger, email: users.email })
      .from(ledger)
      .leftJoin(users, eq(users.id, ledger.userId))
      .where(and(...shared, ...where))
      .orderBy(...order)
      .limit(page.limit);
  const own = () => {
    const mine = eq(ledger.userId, user.id);
    // The index of notable entries is in the order of numbers; the index of all entries is in the order of their
    // ranges.
    if (notable) return walk([mine]);
    const before = page.before === undefined ? undefined : lte(rangeOf(ledger.seq), rangeOf(page.before));
    return walk([mine, before], [desc(rangeOf(ledger.seq)), desc(ledger.seq)]);
  };
  const acted = (who: string, about?: string) =>
    walk([
      eq(actorOf(ledger), who),
      isAboutOthers(ledger),
      about === undefined ? undefined : eq(ledger.userId, about),
      // The steps that a workflow takes after a decision are not acts of the person who decided.
      who === user.id ? notLike(ledger.type, `${steps}%`) : undefined,
    ]);
  const wanted = filter.user === undefined ? [user.id] : await idsKnownAs(ctx.db, filter.user);
  const all = wanted.includes(user.id);
  const walks = all
    ? [own(), acted(user.id)]
    : wanted.flatMap((other) => [acted(other, user.id), acted(user.id, other)]);
  if (filter.user === undefined && filter.workflow_id === undefined) {
    walks.push(walk([isNull(ledger.userId), inArray(ledger.type, everybodys)]));
  }
  const by = all ? undefined : wanted;
  const tasks = readTaskEvents(ctx, user, filter, { ...page, since, until, by });
  const [told, ...found] = await Promise.all([tasks, ...walks]);
  const rows: FoundEntry[] = [...told, ...found.flat().map(({ entry, email }) => ({ ...entry, email }))];
  // Each entry is listed once, even when two of these queries find it.
  return [...new Map(rows.map((row) => [row.seq, row])).values()]
    .sort((a, b) => b.seq - a.seq)
    .slice(0, page.limit)
    .map((row) => ({ seq: row.seq, entry: toEntry(row) }));
}

/** An entry with the address of the person that it concerns. */
export interface FoundEntry {
  seq: number;
  at: Date;
  type: string;
  level: LedgerLevel;
  message: string;
  actor: unknown;
  provider: string | null;
  executionId: string | null;
  email: string | null;
}

function toEntry(row: FoundEntry): LogEntry {
  return {
    timestamp: row.at.toISOString(),
    level: row.level,
    message: row.message,
    provider: row.provider ?? '',
    user: whoActed(row.actor as Partial<Actor>),
    owner: row.email ?? '',
    workflow_id: row.executionId ?? '',
    type: row.type,
  };
}

function whoActed(actor: Partial<Actor>): string {
  if (actor.kind === 'user') return actor.email ?? '';
  if (actor.kind === 'agent') return `agent ${actor.name ?? ''}`.trim();
  // An operator is identified by an account of the server's machine, which not everyone may read.
  return actor.kind === 'operator' ? 'operator' : '';
}

function readTime(text: string | undefined, path: string, read: (moment: string) => Date): Date | undefined {
  if (text === undefined) return undefined;
  const time = read(text);
  if (Number.isNaN(time.getTime())) throw invalid(path, 'is not a time');
  return time;
}

/** Returns the newest task events of a person's own requests, before a position, in the form of ledger entries. */
async function readTaskEvents(
  ctx: Store,
  user: UserActor,
  filter: LogFilter,
  page: {
    before?: number | undefined;
    limit: number;
    since?: Date | undefined;
    until?: Date | undefined;
    /** Only events that followed from these people's acts. */
    by?: readonly string[] | undefined;
  },
): Promise<FoundEntry[]> {
  const { before = Number.MAX_SAFE_INTEGER, limit, since, until, by } = page;
  // No task event is an error or names a provider.
  if (filter.provider !== undefined || filter.level === 'error' || by?.length === 0) return [];
  const rows = await ctx.db
    .select({ row: taskEvents, email: users.email })
    .from(taskEvents)
    .leftJoin(users, eq(users.id, taskEvents.userId))
    .where(
      and(
        eq(taskEvents.userId, user.id),
        lt(taskEvents.seq, before),
        since && gte(taskEvents.at, since),
        until && lte(taskEvents.at, until),
        filter.workflow_id === undefined ? undefined : eq(taskEvents.executionId, filter.workflow_id),
        by && inArray(sql`${taskEvents.actor} ->> 'id'`, [...by]),
        holds(filter),
      ),
    )
    .orderBy(sql`${taskEvents.seq} desc nulls last`)
    // Each row has a matching event, except possibly the row that contains the position.
    .limit(limit + 1);
  return rows.flatMap(({ row, email }) =>
    row.events
      .map((event, index) => {
        const { type, level, message } = describeTaskEvent(event);
        const { at, actor, executionId } = row;
        return { seq: row.seq + index, at, type, level, message, actor, executionId, email, provider: null };
      })
      .filter(
        ({ seq, type, level }) => seq < before && type === (filter.type ?? type) && level === (filter.level ?? level),
      ),
  );
}

/** Matches rows with an event of the requested type and level; undefined when neither is requested. */
function holds({ type, level }: LogFilter): SQL | undefined {
  if (type === undefined && level === undefined) return undefined;
  const kind = type === undefined ? undefined : kindOf(type);
  const failed = sql`event ->> 0 = 'faulted'`;
  const wanted = and(
    kind && sql`event ->> 0 = ${kind.what}`,
    kind?.about === undefined ? undefined : sql`event ->> 1 = ${kind.about}`,
    level === undefined ? undefined : level === 'warning' ? failed : sql`not ${failed}`,
  );
  return sql`exists (select from jsonb_array_elements(${taskEvents.events}) event where ${wanted})`;
}
