import { approvals, type ExecutionStatus, executions, type StepKind, signals, steps, userIdentities } from '@belay/db';
import { type CloudEvent, type Json, type Outcome, restoreState, type State, type Workflow } from '@belay/workflow';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
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
  const [row] = await ctx.db
    .select({
      id: executions.id,
      workflow: executions.workflow,
      status: executions.status,
      definitionDigest: executions.definitionDigest,
      ownerId: executions.ownerId,
      input: executions.input,
      state: executions.state,
      version: executions.version,
      taskEvents: executions.taskEvents,
      startedAt: executions.startedAt,
      cancelRequestedAt: executions.cancelRequestedAt,
      endedAt: executions.endedAt,
      asked: sql<boolean>`exists (select from ${approvals} where ${approvals.executionId} = ${executions.id})`,
      now: sql<string>`app_now()`,
      email: userIdentities.email,
      groups: userIdentities.groups,
      organizations: userIdentities.organizations,
      steps: sql<string | null>`(
        select json_agg(json_build_object('key', ready.key, 'kind', ready.kind, 'attempt', ready.attempt,
          'dueAt', ready.due_at, 'outcome', ready.outcome, 'outcomeAt', ready.outcome_at))::text
        from ${steps} as ready where ready.execution_id = ${executions.id} and ready.status = 'open'
          and (ready.kind in ('timer', 'turn') or ready.outcome_at is not null or ready.key = ${key ?? TURN}))`,
    })
    .from(executions)
    .leftJoin(
      userIdentities,
      and(
        eq(userIdentities.userId, executions.ownerId),
        eq(userIdentities.provider, sql`${executions.input} #>> '{user,provider}'`),
        eq(userIdentities.subject, sql`${executions.input} #>> '{user,subject}'`),
      ),
    )
    .where(eq(executions.id, executionId));
  if (!row || row.endedAt) return null;
  const { email, groups, organizations, ...execution } = row;
  const read = (JSON.parse(row.steps ?? '[]') as Record<string, unknown>[]).map(readStep);
  return {
    ...execution,
    input: row.input as Json,
    definition: await workflowOf(ctx.db, row),
    state: row.status === 'pending' ? null : restoreState(row.state, row.input as Json),
    now: new Date(row.now),
    steps: read.filter(({ kind }) => kind !== 'turn'),
    turn: read.find(({ kind }) => kind === 'turn')?.attempt ?? null,
    requester: { email, groups, organizations },
  };
}

function readStep(row: Record<string, unknown>): ReadyStep {
  const dateOf = (value: unknown) => (typeof value === 'string' ? new Date(value) : null);
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
