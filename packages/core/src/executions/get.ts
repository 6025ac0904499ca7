import { invalid } from '@belay/contract/errors';
import type {
  ExecutionApproval,
  ExecutionDecision,
  ExecutionDetails,
  ExecutionGrant,
  HistoryEntry,
} from '@belay/contract/executions';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { approvals, entitlements, grants } from '@belay/db';
import type { Access } from '@belay/providers';
import type { Fault, Json } from '@belay/workflow';
import { and, asc, eq } from 'drizzle-orm';
import { expiryOf, isNotOver } from '../access/wanted.js';
import { stageOf } from '../approvals/subject.js';
import { aftermathOf } from '../catalog/authorizer.js';
import type { ActorStore, Store } from '../context.js';
import { findExecution } from '../find-execution.js';
import { readNow } from '../now.js';
import { type Happening, readArchivedUntil, readGap, readHappenings } from './history.js';
import { readWaiting, summarise } from './list.js';
import { type GrantTimes, outcomeOf, readDecisions } from './outcome.js';
import { executionState, failedBeside, grantState } from './state.js';

const mostHistory = limits.history;

export interface GetExecution extends PageOf {
  id: string;
}

/**
 * Returns one execution with a page of its history (GET /execution/{id}). Throws `not_found` for callers who may not
 * see it, and `invalid` for a cursor that does not belong to its history.
 */
export async function getExecution(ctx: ActorStore, input: GetExecution): Promise<ExecutionDetails> {
  const { execution, owner } = await findExecution(ctx, ctx.actor, input.id);
  const now = await readNow(ctx.db);
  const [waiting, { history, next }, { asked, decided }, held] = await Promise.all([
    readWaiting(ctx, [execution.id]),
    readHistory(ctx, execution, input),
    readApprovals(ctx, execution.id),
    readGrants(ctx, execution.id, now),
  ]);
  const state = executionState({
    status: execution.status,
    ended: execution.endedAt !== null,
    grants: held.map((grant) => grant.described.state),
    approvals: asked.map((approval) => approval.status),
  });
  const outcome = outcomeOf(
    execution,
    held.map(({ grant }) => grant),
    decided,
    now,
  );
  return {
    ...summarise(execution, owner.email, { ...outcome, state, waiting_for: waiting.get(execution.id) ?? [] }, now),
    history,
    next,
    input: execution.input as Json,
    output: (execution.output ?? null) as Json,
    error: (execution.fault as Fault | null) ?? null,
    end_time: execution.endedAt?.toISOString() ?? null,
    approvals: asked,
    grants: held.map(({ described }) => described),
  };
}

/**
 * Returns one page of the history. The first page has the newest entries; in a page, the oldest entry comes first. An entry states how many
 * task events in the middle are not kept.
 */
async function readHistory(
  ctx: Store,
  execution: { id: string; taskEvents: number; createdAt: Date },
  { limit = mostHistory, cursor }: PageOf,
): Promise<{ history: HistoryEntry[]; next: string | null }> {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) throw invalid('cursor', 'is not a cursor of this list');
  const before = cursor === undefined ? undefined : Number(cursor);
  const wanted = Math.min(limit, mostHistory);
  const [found, gap, archived] = await Promise.all([
    // One more row than is shown tells whether there are more.
    readHappenings(ctx.db, execution.id, { before, from: 'newest', limit: wanted + 1 }),
    readGap(ctx.db, execution),
    readArchivedUntil(ctx.db, execution.createdAt),
  ]);
  const shown = found.slice(-wanted);
  const history = shown.flatMap((happening): HistoryEntry[] =>
    happening.seq === gap?.before ? [describeGap(gap), toEntry(happening)] : [toEntry(happening)],
  );
  const more = found.length > wanted;
  if (archived !== null && !more) history.unshift(describeArchived(archived));
  return { history, next: more ? String(shown[0]?.seq) : null };
}

function toEntry({ type, at, message, task }: Happening): HistoryEntry {
  return { event_type: type, timestamp: at.toISOString(), message, ...(task === undefined ? {} : { task }) };
}

function describeGap({ at, count }: { at: Date; count: number }): HistoryEntry {
  return {
    event_type: 'belay.history.omitted',
    timestamp: at.toISOString(),
    message: `${count} earlier task events are not kept`,
  };
}

function describeArchived(until: Date): HistoryEntry {
  return {
    event_type: 'belay.history.archived',
    timestamp: until.toISOString(),
    message: `Entries of the audit log before ${until.toISOString().slice(0, 10)} were archived and are not shown`,
  };
}

async function readApprovals(
  ctx: Store,
  executionId: string,
): Promise<{ asked: ExecutionApproval[]; decided: ExecutionDecision[] }> {
  const rows = await ctx.db
    .select()
    .from(approvals)
    .where(eq(approvals.executionId, executionId))
    .orderBy(asc(approvals.createdAt), asc(approvals.stage));
  const made = rows.length === 0 ? [] : await readDecisions(ctx, [executionId]);
  const asked = rows.map((row) => ({
    id: row.id,
    status: row.status,
    expires_at: row.expiresAt.toISOString(),
    approvers: { users: row.rule.users, groups: row.rule.groups },
    count: row.rule.count,
    ...stageOf(row.rule),
    request_digest: row.requestDigest,
    because: row.because,
    decisions: made.filter(({ approvalId }) => approvalId === row.id).map(({ decision }) => decision),
  }));
  return { asked, decided: made.map(({ decision }) => decision) };
}

async function readGrants(
  ctx: Store,
  executionId: string,
  now: Date,
): Promise<{ grant: GrantTimes; described: ExecutionGrant }[]> {
  const rows = await ctx.db
    .select({ grant: grants, entitlement: entitlements, failedBeside })
    .from(grants)
    .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
    .where(and(eq(grants.executionId, executionId), isNotOver))
    .orderBy(asc(grants.createdAt), asc(entitlements.key));
  return rows.map(({ grant, entitlement, failedBeside }) => ({
    grant,
    described: {
      provider: entitlement.provider,
      identity: entitlement.identity,
      access: entitlement.access as Json,
      state: grantState({ ...grant, failedBeside }, now),
      granted_at: grant.activatedAt?.toISOString() ?? null,
      expires_at: expiryOf(grant),
      ended_reason: grant.endedReason,
      gone_at: grant.goneAt?.toISOString() ?? null,
      ...aftermathOf(ctx, entitlement.provider, entitlement.access as Access),
      pending: grant.goneAt ? null : entitlement.pending,
      last_error: grant.goneAt ? null : entitlement.lastError,
    },
  }));
}
