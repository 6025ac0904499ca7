import { type LedgerLevel, ledger, users } from '@belay/db';
import { and, eq, gte, inArray, isNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import type { Context, UserActor } from '../context.js';
import { invalid } from '../errors.js';
import { isId } from '../executions/find.js';
import { isKnownAs } from '../logins/people.js';

export interface LogFilter {
  level?: LedgerLevel | undefined;
  provider?: string | undefined;
  /** E-mail address. */
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
  user: string;
  workflow_id: string;
  type: string;
}

/** Events of the system that concern everybody and name nobody. */
const everybodys = ['catalog.applied'];

/**
 * The newest entries that a person may see, before a position: what is about them and their requests, and what concerns
 * everybody. Two walks along an index each, never a scan, however long the ledger is.
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
  const own = walk(
    and(
      ...shared,
      eq(ledger.userId, user.id),
      filter.user === undefined ? undefined : isKnownAs(ctx.db, users.id, filter.user),
      filter.workflow_id === undefined ? undefined : eq(ledger.executionId, filter.workflow_id),
    ),
  );
  const aboutSomebody = filter.user !== undefined || filter.workflow_id !== undefined;
  const common = aboutSomebody ? [] : walk(and(...shared, isNull(ledger.userId), inArray(ledger.type, everybodys)));
  const found = await Promise.all([own, common]);
  return found
    .flat()
    .sort((a, b) => b.entry.seq - a.entry.seq)
    .slice(0, page.limit)
    .map(({ entry, email }) => ({
      seq: entry.seq,
      entry: {
        timestamp: entry.at.toISOString(),
        level: entry.level,
        message: entry.message,
        provider: entry.provider ?? '',
        user: email ?? '',
        workflow_id: entry.executionId ?? '',
        type: entry.type,
      },
    }));
}

function readTime(text: string | undefined, path: string): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw invalid(path, 'is not a time');
  return time;
}
