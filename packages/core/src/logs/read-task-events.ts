import type { LogFilter } from '@belay/contract/logs';
import { taskEvents, users } from '@belay/db';
import { describeTaskEvent, kindOf } from '@belay/engine';
import { and, eq, gte, inArray, lt, lte, type SQL, sql } from 'drizzle-orm';
import type { Context, UserActor } from '../context.js';
import type { FoundEntry } from './read.js';

/** Returns the newest events of the tasks of a person's own requests, before a position: as the ledger's entries are. */
export async function readTaskEvents(
  ctx: Context,
  user: UserActor,
  filter: LogFilter,
  page: {
    before?: number | undefined;
    limit: number;
    since?: Date | undefined;
    until?: Date | undefined;
    /** Only what came of these people's acts. */
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
    // Each has an event that is wanted, but for the one that the position may be in.
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

/** Whether a row has an event of the type and the level that are wanted. */
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
