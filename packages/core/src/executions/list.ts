import { formatDuration } from '@belay/contract/durations';
import { invalid } from '@belay/contract/errors';
import type { Execution, ExecutionList, ExecutionState } from '@belay/contract/executions';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { executions, steps } from '@belay/db';
import { and, asc, desc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import type { ElevationInput } from '../plans/input.js';
import { readStates } from './state.js';

/** The queue that executions are worked from. */
export const taskQueue = 'executions';

const most = limits.page;

/**
 * Returns the caller's running executions, newest first, 500 at most (GET /executions). `next` continues after the
 * last of them. Throws `invalid` for a cursor that is not an execution of the caller's.
 */
export async function listExecutions(ctx: ActorStore, input: PageOf = {}): Promise<ExecutionList> {
  const user = requireUser(ctx);
  const limit = Math.min(input.limit ?? most, most);
  const after = input.cursor === undefined ? undefined : await placeOf(ctx, user.id, input.cursor);
  const rows = await ctx.db
    .select({ ...summaryColumns, now: sql<string>`app_now()` })
    .from(executions)
    .where(
      and(
        eq(executions.ownerId, user.id),
        isNull(executions.endedAt),
        after && sql`(${executions.createdAt}, ${executions.id}) < (${after.createdAt}, ${after.id})`,
      ),
    )
    .orderBy(desc(executions.createdAt), desc(executions.id))
    // One more than is shown tells whether there are more.
    .limit(limit + 1);
  const shown = rows.slice(0, limit);
  const ids = shown.map((row) => row.id);
  const [waiting, states] = await Promise.all([
    readWaiting(ctx, ids),
    readStates(ctx, shown, new Date(rows[0]?.now ?? 0)),
  ]);
  return {
    executions: shown.map((row) =>
      summarise(
        row,
        user.email,
        { state: states.get(row.id) ?? 'running', waitingFor: waiting.get(row.id) ?? [] },
        new Date(row.now),
      ),
    ),
    next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
  };
}

/**
 * Returns the position of an execution in its owner's list, also when it has ended meanwhile; as text, which keeps
 * microseconds.
 */
async function placeOf(ctx: ActorStore, ownerId: string, cursor: string) {
  const [row] = isId(cursor)
    ? await ctx.db
        .select({ id: executions.id, createdAt: sql<string>`${executions.createdAt}::text` })
        .from(executions)
        .where(and(eq(executions.id, cursor), eq(executions.ownerId, ownerId)))
    : [];
  if (!row) throw invalid('cursor', 'is not a cursor of this list');
  return { id: sql`${row.id}::uuid`, createdAt: sql`${row.createdAt}::timestamptz` };
}

const summaryColumns = {
  id: executions.id,
  workflow: executions.workflow,
  status: executions.status,
  input: executions.input,
  createdAt: executions.createdAt,
  startedAt: executions.startedAt,
  endedAt: executions.endedAt,
};

/** Returns what open steps wait for, by execution. */
export async function readWaiting(ctx: ActorStore, ids: string[]): Promise<Map<string, string[]>> {
  if (ids.length === 0) return new Map();
  const rows = await ctx.db
    .select({ id: steps.executionId, waitingFor: steps.waitingFor, kind: steps.kind, request: steps.request })
    .from(steps)
    .where(and(inArray(steps.executionId, ids), eq(steps.status, 'open')))
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
    status: string;
    input: unknown;
    createdAt: Date;
    startedAt: Date | null;
    endedAt: Date | null;
  },
  user: string,
  { state, waitingFor }: { state: ExecutionState; waitingFor: string[] },
  now: Date,
): Execution {
  const input = row.input as ElevationInput;
  const from = row.startedAt ?? row.createdAt;
  return {
    workflow_id: row.id,
    run_id: row.id,
    status: row.status,
    state,
    start_time: from.toISOString(),
    execution_time: formatDuration(Math.max(0, (row.endedAt ?? now).getTime() - from.getTime())),
    task_queue: taskQueue,
    user,
    workflow_type: { name: row.workflow },
    role: input.role,
    providers: input.providers,
    reason: input.reason,
    duration: input.duration,
    waiting_for: waitingFor,
  };
}
