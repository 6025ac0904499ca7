import { type LedgerLevel, ledger, users } from '@belay/db';
import { and, eq, gte, inArray, isNull, lt, lte, notLike, or, type SQL, sql } from 'drizzle-orm';
import type { Actor, Context, UserActor } from '../context.js';
import { invalid } from '../errors.js';
import { isId } from '../executions/find.js';
import { isKnownAs } from '../logins/people.js';
import { readTaskEvents } from './read-task-events.js';

export interface LogFilter {
  level?: LedgerLevel | undefined;
  provider?: string | undefined;
  /** E-mail address of who acted, or of whom it concerns. */
  user?: string | undefined;
  workflow_id?: string | undefined;
  type?: string | undefined;
  /** ISO 8601, both inclusive. */
  since?: string | undefined;
  until?: string | undefined;
}

export interface LogEntry {
  timestamp: string;
  level: string;
  message: string;
  provider: string;
  /** Who acted: an e-mail address, or `agent <name>` or `operator`; empty when the service did it by itself. */
  user: string;
  /** E-mail address of the person whom it concerns, as the owner of a request; empty for none. */
  owner: string;
  workflow_id: string;
  type: string;
}

/** Events of the system that concern everybody and name nobody. */
const everybodys = ['catalog.applied'];

/** What the DSL names after itself. */
const steps = 'io.serverlessworkflow.';

/**
 * Returns the newest entries that a person may see, before a position: what is about them and their requests, what they did
 * themselves, and what concerns all people. Each part is read along an index, so the time does not grow with the ledger.
 */
export async function readLedger(
  ctx: Context,
  user: UserActor,
  filter: LogFilter,
  page: { before?: number | undefined; limit: number },
): Promise<{ seq: number; entry: LogEntry }[]> {
  if (filter.workflow_id !== undefined && !isId(filter.workflow_id)) return [];
  const since = readTime(filter.since, 'since');
  const until = readTime(filter.until, 'until');
  const wanted = filter.user;
  const shared: (SQL | undefined)[] = [
    page.before === undefined ? undefined : lt(ledger.seq, page.before),
    filter.level === undefined ? undefined : eq(ledger.level, filter.level),
    filter.provider === undefined ? undefined : eq(ledger.provider, filter.provider),
    filter.type === undefined ? undefined : eq(ledger.type, filter.type),
    since === undefined ? undefined : gte(ledger.at, since),
    until === undefined ? undefined : lte(ledger.at, until),
  ];
  const walk = (where: SQL | undefined) =>
    ctx.db
      .select({ entry: ledger, email: users.email })
      .from(ledger)
      .leftJoin(users, eq(users.id, ledger.userId))
      .where(where)
      // As the indexes have it: another place for nulls, though there are none, would mean a sort of everything.
      .orderBy(sql`${ledger.seq} desc nulls last`)
      .limit(page.limit);
  shared.push(
    wanted === undefined
      ? undefined
      : or(isKnownAs(ctx.db, users.id, wanted), isKnownAs(ctx.db, sql`(${ledger.actor} ->> 'id')::uuid`, wanted)),
    filter.workflow_id === undefined ? undefined : eq(ledger.executionId, filter.workflow_id),
  );
  const concerned = walk(and(...shared, eq(ledger.userId, user.id)));
  // The steps that a workflow takes after a decision are the owner's to follow, not acts of who decided.
  const acted = walk(and(...shared, eq(sql`${ledger.actor} ->> 'id'`, user.id), notLike(ledger.type, `${steps}%`)));
  const aboutSomebody = filter.user !== undefined || filter.workflow_id !== undefined;
  const common = aboutSomebody ? [] : walk(and(...shared, isNull(ledger.userId), inArray(ledger.type, everybodys)));
  const tasks = readTaskEvents(ctx, user, filter, { ...page, since, until });
  const [told, ...found] = await Promise.all([tasks, concerned, acted, common]);
  const rows: FoundEntry[] = [...told, ...found.flat().map(({ entry, email }) => ({ ...entry, email }))];
  // What a person did about a request of their own is found both ways.
  return [...new Map(rows.map((row) => [row.seq, row])).values()]
    .sort((a, b) => b.seq - a.seq)
    .slice(0, page.limit)
    .map((row) => ({ seq: row.seq, entry: toEntry(row) }));
}

/** An entry as it was found, with the address of the person whom it concerns. */
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
  // An operator is known by an account of the server's machine, which is not for everyone to read.
  return actor.kind === 'operator' ? 'operator' : '';
}

function readTime(text: string | undefined, path: string): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw invalid(path, 'is not a time');
  return time;
}
