import { formatDuration } from '@belay/contract/durations';
import { invalid } from '@belay/contract/errors';
import type { Execution, ExecutionFilter, ExecutionList } from '@belay/contract/executions';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { execute, executions, type SqlText, sqlText, steps, users } from '@belay/db';
import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import type { ElevationInput } from '../plans/input.js';
import { findRequests } from './find-requests.js';
import { type DecisionRow, decisionColumn, outcomeOf } from './outcome.js';
import { type GrantRow, isOneOf, type StandingRow, standingColumns, standingOf, toDate } from './state.js';

/** The queue from which workers take executions. */
export const taskQueue = 'executions';

const most = limits.page;

/**
 * Returns the caller's running requests, newest first, 500 at most (GET /executions); with a filter, the requests that it selects and the
 * caller may see. `next` continues after the last of them. Throws `invalid` for a text that is not a cursor, and the errors of
 * `findRequests`.
 */
export async function listExecutions(ctx: ActorStore, input: PageOf & ExecutionFilter = {}): Promise<ExecutionList> {
  const user = requireUser(ctx);
  const { limit, cursor, ...filter } = input;
  const page = { limit: Math.min(limit ?? most, most), cursor };
  const filtered = Object.values(filter).some((value) => value !== undefined);
  const { ids, next } = filtered ? await findRequests(ctx, user, filter, page) : await findRunning(ctx, user.id, page);
  return { executions: await describeExecutions(ctx, ids), next };
}

async function findRunning(
  ctx: ActorStore,
  ownerId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ ids: string[]; next: string | null }> {
  const after = cursor === undefined ? undefined : await placeOf(ctx, ownerId, cursor);
  const rows = await ctx.db
    .select({ id: executions.id })
    .from(executions)
    .where(
      and(
        eq(executions.ownerId, ownerId),
        isNull(executions.endedAt),
        after &&
          sql`(${executions.createdAt}, ${executions.id}) < (${after.createdAt.toISOString()}::timestamptz, ${after.id}::uuid)`,
      ),
    )
    .orderBy(desc(executions.createdAt), desc(executions.id))
    // One more row than is shown tells whether there are more.
    .limit(limit + 1);
  const ids = rows.slice(0, limit).map(({ id }) => id);
  return { ids, next: rows.length > limit ? (ids.at(-1) ?? null) : null };
}

/** Returns the position of an execution in its owner's list, even when it has ended meanwhile. */
async function placeOf(ctx: ActorStore, ownerId: string, cursor: string) {
  const [row] = isId(cursor)
    ? await ctx.db
        .select({ id: executions.id, createdAt: executions.createdAt })
        .from(executions)
        .where(and(eq(executions.id, cursor), eq(executions.ownerId, ownerId)))
    : [];
  if (!row) throw invalid('cursor', 'is not a cursor of this list');
  return row;
}

/** Returns executions as a list shows them, in the order of `ids`. */
async function describeExecutions(ctx: ActorStore, ids: readonly string[]): Promise<Execution[]> {
  if (ids.length === 0) return [];
  const rows = await execute<SummaryRow>(
    ctx.db,
    sqlText`select ${summaryColumns}, ${standingColumns}, ${decisionColumn} from ${executions} e where ${isOneOf(ids)}`,
  );
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = known.get(id);
    return row ? [summarise(row)] : [];
  });
}

/**
 * The columns from which `summarise` reads the execution in the row `e`, besides its standing and its decisions. The owner is not
 * joined: a planner that expects many rows would read all people.
 */
export const summaryColumns: SqlText = sqlText`
  e.id, e.workflow, e.input, e.extends_id, e.created_at, e.started_at,
  (select email from ${users} where ${users.id} = e.owner_id) as owner,
  (select json_agg(waits order by opened_at) from (
    select coalesce(waiting_for, case kind when 'event' then 'an event' end) as waits, opened_at
    from ${steps} where execution_id = e.id and status = 'open') open
   where waits is not null) as waiting`;

export interface SummaryRow<Grant extends GrantRow = GrantRow, Approval = unknown>
  extends StandingRow<Grant, Approval> {
  id: string;
  workflow: string;
  input: unknown;
  extends_id: string | null;
  created_at: string;
  started_at: string | null;
  owner: string;
  /** What its open steps wait for. */
  waiting: string[] | null;
  decided: DecisionRow[] | null;
}

/** Returns an execution as the interface shows it in a list. */
export function summarise(row: SummaryRow): Execution {
  const input = row.input as ElevationInput;
  const now = new Date(row.now);
  const from = new Date(row.started_at ?? row.created_at);
  const endedAt = toDate(row.ended_at);
  const { status, state, grants } = standingOf(row);
  return {
    workflow_id: row.id,
    run_id: row.id,
    status,
    start_time: from.toISOString(),
    execution_time: formatDuration(Math.max(0, (endedAt ?? now).getTime() - from.getTime())),
    task_queue: taskQueue,
    user: row.owner,
    workflow_type: { name: row.workflow },
    role: input.role,
    providers: input.providers,
    reason: input.reason,
    duration: input.duration,
    requested_at: new Date(row.created_at).toISOString(),
    extends: row.extends_id,
    break_glass: input.break_glass !== undefined,
    ...outcomeOf(endedAt, grants, row.decided ?? [], now),
    state,
    waiting_for: row.waiting ?? [],
  };
}
