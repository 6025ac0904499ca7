import { formatDuration } from '@belay/contract/durations';
import { invalid } from '@belay/contract/errors';
import type { Execution, ExecutionFilter, ExecutionList } from '@belay/contract/executions';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { type ExecutionStatus, executions, steps, users } from '@belay/db';
import { and, asc, desc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import type { ElevationInput } from '../plans/input.js';
import { findRequests } from './find-requests.js';
import { type Outcome, outcomeOf, readDecisions } from './outcome.js';
import { readStandings } from './state.js';

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
  const rows = await ctx.db
    .select({
      ...summaryColumns,
      // Not joined: a planner that expects many rows would read all people.
      email: sql<string>`(select ${users.email} from ${users} where ${users.id} = ${executions.ownerId})`,
      now: sql<string>`app_now()`,
    })
    .from(executions)
    .where(inArray(executions.id, [...ids]));
  const now = new Date(rows[0]?.now ?? 0);
  const [waiting, standings, decided] = await Promise.all([
    readWaiting(ctx, ids),
    readStandings(ctx, rows, now),
    readDecisions(ctx, ids),
  ]);
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = known.get(id);
    const standing = standings.get(id);
    if (!row || !standing) return [];
    const own = decided.filter(({ executionId }) => executionId === id).map(({ decision }) => decision);
    const outcome = outcomeOf(row, standing.grants, own, now);
    return [summarise(row, row.email, { ...outcome, state: standing.state, waiting_for: waiting.get(id) ?? [] }, now)];
  });
}

const summaryColumns = {
  id: executions.id,
  workflow: executions.workflow,
  status: executions.status,
  input: executions.input,
  extendsId: executions.extendsId,
  createdAt: executions.createdAt,
  startedAt: executions.startedAt,
  endedAt: executions.endedAt,
};

/** Returns what open steps wait for, by execution. */
export async function readWaiting(ctx: ActorStore, ids: readonly string[]): Promise<Map<string, string[]>> {
  if (ids.length === 0) return new Map();
  const rows = await ctx.db
    .select({ id: steps.executionId, waitingFor: steps.waitingFor, kind: steps.kind, request: steps.request })
    .from(steps)
    .where(and(inArray(steps.executionId, [...ids]), eq(steps.status, 'open')))
    .orderBy(asc(steps.openedAt));
  const waiting = new Map<string, string[]>();
  for (const row of rows) {
    const text = row.waitingFor ?? (row.kind === 'event' ? 'an event' : null);
    if (text !== null) waiting.set(row.id, [...(waiting.get(row.id) ?? []), text]);
  }
  return waiting;
}

/** Returns an execution as the interface shows it in a list. */
export function summarise(
  row: {
    id: string;
    workflow: string;
    status: ExecutionStatus;
    input: unknown;
    extendsId: string | null;
    createdAt: Date;
    startedAt: Date | null;
    endedAt: Date | null;
  },
  user: string,
  standing: Outcome & Pick<Execution, 'state' | 'waiting_for'>,
  now: Date,
): Execution {
  const input = row.input as ElevationInput;
  const from = row.startedAt ?? row.createdAt;
  return {
    workflow_id: row.id,
    run_id: row.id,
    status: row.status,
    start_time: from.toISOString(),
    execution_time: formatDuration(Math.max(0, (row.endedAt ?? now).getTime() - from.getTime())),
    task_queue: taskQueue,
    user,
    workflow_type: { name: row.workflow },
    role: input.role,
    providers: input.providers,
    reason: input.reason,
    duration: input.duration,
    requested_at: row.createdAt.toISOString(),
    extends: row.extendsId,
    break_glass: input.break_glass !== undefined,
    ...standing,
  };
}
