import { invalid, notFound } from '@belay/contract/errors';
import type {
  ExecutionApproval,
  ExecutionDetails,
  ExecutionGrant,
  GrantState,
  HistoryEntry,
} from '@belay/contract/executions';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import {
  type ApprovalRule,
  type ApprovalStatus,
  approvals,
  entitlements,
  execute,
  executions,
  grants,
  type SqlText,
  sqlText,
} from '@belay/db';
import type { Access } from '@belay/providers';
import type { Fault, Json } from '@belay/workflow';
import { expiryOf } from '../access/wanted.js';
import { stageOf } from '../approvals/subject.js';
import { aftermathOf } from '../catalog/authorizer.js';
import type { ActorStore, Store } from '../context.js';
import { isId, sightOf } from '../find-execution.js';
import {
  archivedColumn,
  type GapRow,
  gapColumn,
  type Happening,
  type HappeningRow,
  type HistoryPart,
  happenings,
  toGap,
  toHappenings,
} from './history.js';
import { type SummaryRow, summarise, summaryColumns } from './list.js';
import { type DecisionRow, decisionColumn, toDecision } from './outcome.js';
import { type GrantRow, grantPairs, grantsOfRow, standingOf, toDate } from './state.js';

const mostHistory = limits.history;

export interface GetExecution extends PageOf {
  id: string;
}

interface ApprovalRow {
  id: string;
  expires_at: string;
  rule: ApprovalRule;
  request_digest: string;
  because: string | null;
}

interface HeldRow extends GrantRow {
  provider: string;
  identity: string;
  access: Access;
  ended_reason: string | null;
  pending: string | null;
  last_error: string | null;
}

interface DetailsRow extends SummaryRow<HeldRow, ApprovalRow> {
  owner_id: string;
  output: Json | null;
  fault: Fault | null;
  happened: HappeningRow[] | null;
  gap: GapRow | null;
  archived: string | null;
}

/**
 * Returns one execution with a page of its history (GET /execution/{id}), with one statement. Throws `not_found` for callers who may not
 * see it, and `invalid` for a text that is not a cursor.
 */
export async function getExecution(ctx: ActorStore, input: GetExecution): Promise<ExecutionDetails> {
  const part = partOf(input);
  const [row] = isId(input.id) ? await execute<DetailsRow>(ctx.db, detailsOf(input.id, part)) : [];
  if (!row || !sightOf(ctx, ctx.actor, { ownerId: row.owner_id, input: row.input }, approversOf(row))) {
    throw notFound('The execution');
  }
  const held = standingOf(row).grants;
  return {
    ...summarise(row),
    ...describeHistory(row, part),
    input: row.input as Json,
    output: row.output,
    error: row.fault,
    end_time: toInstant(row.ended_at),
    approvals: (row.asked ?? []).map((approval) => describeApproval(approval, row.decided ?? [])),
    grants: (row.held ?? []).map((grant, index) => describeGrant(ctx, grant, held[index]?.state ?? 'granting')),
  };
}

/** Returns the part of the history that one page shows; one more row than that tells whether there are more. */
function partOf({ limit = mostHistory, cursor }: PageOf): HistoryPart {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) throw invalid('cursor', 'is not a cursor of this list');
  const before = cursor === undefined ? undefined : Number(cursor);
  return { before, from: 'newest', limit: Math.min(limit, mostHistory) + 1 };
}

function detailsOf(id: string, part: HistoryPart): SqlText {
  return sqlText`
    select ${summaryColumns}, ${decisionColumn}, ${gapColumn}, ${archivedColumn},
      e.status, e.ended_at, e.owner_id, e.output, e.fault, app_now() as now,
      (select json_agg(json_build_object(${grantPairs}, 'provider', provider, 'identity', ${grants.identity}, 'access', ${grants.access},
         'ended_reason', ended_reason, 'pending', pending, 'last_error', last_error)
         order by ${grants.createdAt}, ${entitlements.key})
       from ${grants} join ${entitlements} on ${entitlements.id} = ${grants.entitlementId} where ${grantsOfRow}) as held,
      (select json_agg(json_build_object('id', id, 'status', status, 'expires_at', expires_at, 'rule', rule,
         'request_digest', request_digest, 'because', because) order by created_at, stage)
       from ${approvals} where execution_id = e.id) as asked,
      (select json_agg(happened) from (${happenings(sqlText`e.id`, part)}) happened) as happened
    from ${executions} e where e.id = ${id}::uuid`;
}

function approversOf({ asked, decided }: DetailsRow) {
  return (asked ?? []).map(({ id, rule }) => ({
    rule,
    deciders: (decided ?? []).flatMap((one) => (one.approval_id === id ? [one.approver_id] : [])),
  }));
}

/**
 * Returns one page of the history. The first page has the newest entries; in a page, the oldest entry comes first. An entry states how many
 * task events in the middle are not kept.
 */
function describeHistory(row: DetailsRow, part: HistoryPart): { history: HistoryEntry[]; next: string | null } {
  const found = toHappenings(row.happened ?? [], part);
  const gap = toGap(row.gap);
  const wanted = part.limit - 1;
  const shown = found.slice(-wanted);
  const history = shown.flatMap((happening): HistoryEntry[] =>
    happening.seq === gap?.before ? [describeGap(gap), toEntry(happening)] : [toEntry(happening)],
  );
  const more = found.length > wanted;
  if (row.archived !== null && !more) history.unshift(describeArchived(new Date(row.archived)));
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

function describeApproval(
  { id, status, expires_at, rule, request_digest, because }: ApprovalRow & { status: ApprovalStatus },
  decided: readonly DecisionRow[],
): ExecutionApproval {
  return {
    id,
    status,
    expires_at: new Date(expires_at).toISOString(),
    approvers: { users: rule.users, groups: rule.groups },
    count: rule.count,
    ...stageOf(rule),
    request_digest,
    because,
    decisions: decided.filter(({ approval_id }) => approval_id === id).map(toDecision),
  };
}

function describeGrant(ctx: Store, grant: HeldRow, state: GrantState): ExecutionGrant {
  const { provider, identity, access, activated_at, expires_at, ended_reason, gone_at } = grant;
  return {
    provider,
    identity,
    access: access as Json,
    state,
    granted_at: toInstant(activated_at),
    expires_at: expiryOf({ activatedAt: toDate(activated_at), expiresAt: toDate(expires_at) }),
    ended_reason,
    gone_at: toInstant(gone_at),
    ...aftermathOf(ctx, provider, access),
    pending: gone_at === null ? grant.pending : null,
    last_error: gone_at === null ? grant.last_error : null,
  };
}

function toInstant(time: string | null): string | null {
  return toDate(time)?.toISOString() ?? null;
}
