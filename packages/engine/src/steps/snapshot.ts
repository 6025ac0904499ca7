import {
  type ExecutionStatus,
  execute,
  executions,
  inGroups,
  rawText,
  type SqlText,
  type StepKind,
  signals,
  sqlText,
  steps,
} from '@belay/db';
import { type CloudEvent, type Json, type Outcome, restoreState, type State, type Workflow } from '@belay/workflow';
import { and, asc, eq, isNull } from 'drizzle-orm';
import type { EngineStore } from '../ports.js';
import { workflowOf } from './load.js';
import { TURN } from './turn-row.js';

/** Returns the expression for what the host reads about the execution in the same statement. */
export function besideExecution(ctx: EngineStore): SqlText {
  const column = (name: string) => rawText(`executions.${name}`);
  return ctx.host.beside({ id: column('id'), ownerId: column('owner_id'), input: column('input') });
}

export function readBeside(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

/** An open step that a turn may need. */
export interface ReadyStep {
  key: string;
  kind: StepKind;
  attempt: number;
  dueAt: Date | null;
  outcome: Outcome | null;
  outcomeAt: Date | null;
  /** The claim under which a process has the step now; null for a step without a lease, and for one that was put back. */
  heldBy: string | null;
}

/** An execution that has not ended, read without a lock. */
export interface Snapshot {
  id: string;
  workflow: string;
  status: ExecutionStatus;
  ownerId: string;
  startedAt: Date | null;
  input: Json;
  definition: Workflow;
  /** Null before its first turn. */
  state: State | null;
  version: number;
  /** How many task events it has had, kept or not. */
  taskEvents: number;
  /**
   * When the request to end the execution was recorded. The turn that reads this interrupts first, unless the execution is already
   * being cancelled.
   */
  cancelRequestedAt: Date | null;
  now: Date;
  /** Timers, calls with an outcome, and the step that was requested. */
  steps: ReadyStep[];
  /** The mark that something must be applied: how often it was set so far. */
  turn: number | null;
  /** What the host reads about its owner. */
  beside: unknown;
}

export interface WaitingSignal {
  source: string;
  eventId: string;
  event: CloudEvent;
  /** As it was stored. */
  sender: unknown;
  receivedAt: Date;
}

/** What a caller reads: an execution, and one of its calls. */
interface Asked {
  ctx: EngineStore;
  executionId: string;
  key: string;
}

/**
 * Returns what a turn needs, or null for an execution that has ended. Reads it in one statement, which turns of this process share.
 * `key` is a call to read as well.
 */
export async function readSnapshot(ctx: EngineStore, executionId: string, key = TURN): Promise<Snapshot | null> {
  const row = await readRow(ctx.db, { ctx, executionId, key });
  if (!row) return null;
  const { nth: _, definitionDigest, ...execution } = row;
  const read = (JSON.parse(row.steps ?? '[]') as Record<string, unknown>[]).map(readStep);
  return {
    ...execution,
    startedAt: dateOf(row.startedAt),
    cancelRequestedAt: dateOf(row.cancelRequestedAt),
    definition: await workflowOf(ctx.db, { id: executionId, definitionDigest }),
    state: row.status === 'pending' ? null : restoreState(row.state, row.input),
    now: new Date(row.now),
    steps: read.filter(({ kind }) => kind !== 'turn'),
    turn: read.find(({ kind }) => kind === 'turn')?.attempt ?? null,
    beside: readBeside(row.beside),
  };
}

const readRow = inGroups(async (group: readonly [Asked, ...Asked[]]): Promise<(SnapshotRow | null)[]> => {
  const [{ ctx }] = group;
  const ids = `{${group.map(({ executionId }) => executionId).join(',')}}`;
  const keys = JSON.stringify(group.map(({ key }) => key));
  const rows = await execute<SnapshotRow>(
    ctx.db,
    sqlText`
    select asked.nth, executions.id, workflow, executions.status, definition_digest as "definitionDigest", owner_id as "ownerId", input, state,
      version, task_events as "taskEvents", started_at as "startedAt", cancel_requested_at as "cancelRequestedAt",
      app_now() as now, ${besideExecution(ctx)} as beside, (
        select json_agg(json_build_object('key', ready.key, 'kind', ready.kind, 'attempt', ready.attempt,
          'dueAt', ready.due_at, 'outcome', ready.outcome, 'outcomeAt', ready.outcome_at, 'heldBy',
          case when ready.lease_until > app_now() and ready.failures = 0 then split_part(ready.claim, ' ', 1) end))::text
        from ${steps} as ready where ready.execution_id = executions.id and ready.status = 'open'
          and (ready.kind in ('timer', 'turn') or ready.outcome_at is not null or ready.key = ${keys}::text::jsonb ->> (asked.nth - 1)::int)) as steps
    from unnest(${ids}::text::uuid[]) with ordinality as asked (id, nth)
      join ${executions} on executions.id = asked.id and executions.ended_at is null`,
  );
  const found = new Map(rows.map((row) => [Number(row.nth) - 1, row]));
  return group.map((_, place) => found.get(place) ?? null);
});

/** The row as the driver returns it: times are texts. */
interface SnapshotRow {
  nth: string;
  id: string;
  workflow: string;
  status: ExecutionStatus;
  definitionDigest: string;
  ownerId: string;
  input: Json;
  state: unknown;
  version: number;
  taskEvents: number;
  startedAt: string | null;
  cancelRequestedAt: string | null;
  now: string;
  beside: string | null;
  steps: string | null;
}

function dateOf(value: unknown): Date | null {
  return typeof value === 'string' ? new Date(value) : null;
}

function readStep(row: Record<string, unknown>): ReadyStep {
  return {
    key: String(row.key),
    kind: row.kind as StepKind,
    attempt: Number(row.attempt),
    dueAt: dateOf(row.dueAt),
    outcome: (row.outcome ?? null) as Outcome | null,
    outcomeAt: dateOf(row.outcomeAt),
    heldBy: typeof row.heldBy === 'string' ? row.heldBy : null,
  };
}

/** Returns the events in an execution's inbox that no task has taken, oldest first. */
export async function readSignals(ctx: EngineStore, executionId: string): Promise<WaitingSignal[]> {
  const rows = await ctx.db
    .select({
      source: signals.source,
      eventId: signals.eventId,
      event: signals.event,
      sender: signals.sender,
      receivedAt: signals.receivedAt,
    })
    .from(signals)
    .where(and(eq(signals.executionId, executionId), isNull(signals.consumedAt)))
    .orderBy(asc(signals.receivedAt));
  return rows.map((row) => ({ ...row, event: row.event as CloudEvent }));
}
