import { executions, steps } from '@belay/db';
import { formatDuration } from '@belay/workflow';
import { and, asc, desc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import type { ElevationInput } from '../elevation/input.js';

export interface ExecutionSummary {
  workflow_id: string;
  run_id: string;
  status: string;
  start_time: string;
  /** ISO 8601 duration. */
  execution_time: string;
  task_queue: string;
  user: string;
  workflow_type: { name: string };
  role: string;
  providers: string[];
  reason: string;
  duration: string;
  /** What each open step waits for now, in words. */
  waiting_for: string[];
}

/** The queue that executions are worked from. */
export const taskQueue = 'executions';

/** The caller's running executions, newest first (interface, GET /executions). */
export async function listExecutions(ctx: ActorContext): Promise<{ executions: ExecutionSummary[] }> {
  const user = requireUser(ctx);
  const rows = await ctx.db
    .select({ ...summaryColumns, now: sql<string>`app_now()` })
    .from(executions)
    .where(and(eq(executions.ownerId, user.id), isNull(executions.endedAt)))
    .orderBy(desc(executions.createdAt))
    .limit(500);
  const waiting = await readWaiting(
    ctx,
    rows.map((row) => row.id),
  );
  return { executions: rows.map((row) => summarise(row, user.email, waiting.get(row.id) ?? [], new Date(row.now))) };
}

export const summaryColumns = {
  id: executions.id,
  workflow: executions.workflow,
  status: executions.status,
  input: executions.input,
  createdAt: executions.createdAt,
  startedAt: executions.startedAt,
  endedAt: executions.endedAt,
};

/** What open steps wait for, by execution. */
export async function readWaiting(ctx: ActorContext, ids: string[]): Promise<Map<string, string[]>> {
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

/** An execution as the interface shows it in a list. */
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
  waitingFor: string[],
  now: Date,
): ExecutionSummary {
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
    waiting_for: waitingFor,
  };
}
