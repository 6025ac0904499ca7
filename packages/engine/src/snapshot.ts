import {
  approvals,
  type ExecutionStatus,
  execute,
  executions,
  type StepKind,
  signals,
  sqlText,
  steps,
  userIdentities,
} from '@belay/db';
import { type CloudEvent, type Json, type Outcome, restoreState, type State, type Workflow } from '@belay/workflow';
import { and, asc, eq, isNull } from 'drizzle-orm';
import type { Context } from '../../context.js';
import { readSender, type Sender } from '../senders.js';
import { workflowOf } from './load.js';
import { TURN } from './turn-row.js';

/** An open step that a turn may have to do with. */
export interface ReadyStep {
  key: string;
  kind: StepKind;
  attempt: number;
  dueAt: Date | null;
  outcome: Outcome | null;
  outcomeAt: Date | null;
}

/** An execution that has not ended, as it was read without a lock. */
export interface Snapshot {
  id: string;
  workflow: string;
  status: ExecutionStatus;
  ownerId: string;
  startedAt: Date | null;
  input: Json;
  definition: Workflow;
  /** Null before it has begun. */
  state: State | null;
  version: number;
  /** How many task events it has had, kept or not. */
  taskEvents: number;
  /** When it was asked to end. The turn that finds this interrupts first, unless the execution is being cancelled already. */
  cancelRequestedAt: Date | null;
  /** Whether approvers were asked. */
  asked: boolean;
  now: Date;
  /** Timers, calls with an outcome, and the step that was asked for. */
  steps: ReadyStep[];
  /** The mark that something is to be applied: how often it was made so far. */
  turn: number | null;
  /** The requester under the identity of the request, as its provider tells now. */
  requester: { email: string | null; groups: string[] | null; organizations: string[] | null };
}

export interface WaitingSignal {
  source: string;
  eventId: string;
  event: CloudEvent;
  sender: Sender;
  receivedAt: Date;
}

/** Reads what a turn needs in one statement; null for an execution that has ended. `key`: a call to read as well. */
export async function readSnapshot(ctx: Context, executionId: string, key?: string): Promise<Snapshot | null> {
  const [row] = await execute<SnapshotRow>(
    ctx.db,
    sqlText`
    select execution.id, workflow, execution.status, definition_digest as "definitionDigest", owner_id as "ownerId", input, state,
      version, task_events as "taskEvents", started_at as "startedAt", cancel_requested_at as "cancelRequestedAt",
      exists (select from ${approvals} where execution_id = execution.id) as asked, app_now() as now,
      email, groups, organizations, (
        select json_agg(json_build_object('key', ready.key, 'kind', ready.kind, 'attempt', ready.attempt,
          'dueAt', ready.due_at, 'outcome', ready.outcome, 'outcomeAt', ready.outcome_at))::text
        from ${steps} as ready where ready.execution_id = execution.id and ready.status = 'open'
          and (ready.kind in ('timer', 'turn') or ready.outcome_at is not null or ready.key = ${key ?? TURN})) as steps
    from ${executions} as execution left join ${userIdentities} as one on one.user_id = owner_id
      and one.provider = input #>> '{user,provider}' and one.subject = input #>> '{user,subject}'
    where execution.id = ${executionId} and ended_at is null`,
  );
  if (!row) return null;
  const { email, groups, organizations, definitionDigest, ...execution } = row;
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
    requester: { email, groups, organizations },
  };
}

/** As the driver returns it: times are texts. */
interface SnapshotRow {
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
  asked: boolean;
  now: string;
  email: string | null;
  groups: string[] | null;
  organizations: string[] | null;
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
  };
}

/** The inbox of an execution, oldest first. */
export async function readSignals(ctx: Context, executionId: string): Promise<WaitingSignal[]> {
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
  return rows.map((row) => ({ ...row, event: row.event as CloudEvent, sender: readSender(row.sender) }));
}
