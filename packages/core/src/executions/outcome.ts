import type { Execution, ExecutionDecision } from '@belay/contract/executions';
import { approvals, decisions, type SqlText, sqlText, users } from '@belay/db';

/** The times of a grant that determine when its request was active. */
export interface GrantTimes {
  activatedAt: Date | null;
  expiresAt: Date | null;
  endedAt: Date | null;
}

/** Who decided on a request, and when its access was active. */
export type Outcome = Pick<Execution, 'decided_at' | 'active_from' | 'ends_at' | 'ended_at' | 'decided_by'>;

/** Returns the outcome of an execution, from the grants that were active and the decisions, oldest first. */
export function outcomeOf(
  endedAt: Date | null,
  grants: readonly GrantTimes[],
  decided: readonly DecisionRow[],
  now: Date,
): Outcome {
  const held = grants.flatMap(({ activatedAt, expiresAt, endedAt: over }) =>
    activatedAt === null || expiresAt === null
      ? []
      : [{ from: activatedAt.getTime(), until: expiresAt.getTime(), over: earlier(over, expiresAt) }],
  );
  const last = held.length === 0 ? (endedAt?.getTime() ?? null) : Math.max(...held.map(({ over }) => over));
  const made = decided.map(toDecision);
  return {
    decided_at: made.at(-1)?.decided_at ?? null,
    active_from: toInstant(held.length === 0 ? null : Math.min(...held.map(({ from }) => from))),
    ends_at: toInstant(held.length === 0 ? null : Math.max(...held.map(({ until }) => until))),
    ended_at: toInstant(last !== null && last <= now.getTime() ? last : null),
    decided_by: made,
  };
}

function earlier(endedAt: Date | null, expiresAt: Date): number {
  return Math.min(endedAt?.getTime() ?? Number.POSITIVE_INFINITY, expiresAt.getTime());
}

function toInstant(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** A decision in the column `decided` of a statement. */
export interface DecisionRow {
  approval_id: string;
  approver_id: string;
  approver: string;
  verdict: ExecutionDecision['verdict'];
  comment: string | null;
  decided_at: string;
}

/** The column with the decisions on the execution in the row `e`, oldest first; null without any. */
export const decisionColumn: SqlText = sqlText`
  (select json_agg(json_build_object('approval_id', d.approval_id, 'approver_id', d.approver_id, 'approver', u.email,
    'verdict', d.verdict, 'comment', d.comment, 'decided_at', d.decided_at) order by d.decided_at)
  from ${approvals} a join ${decisions} d on d.approval_id = a.id join ${users} u on u.id = d.approver_id
  where a.execution_id = e.id) as decided`;

/** Returns a decision as the interface shows it. */
export function toDecision({ approver, verdict, comment, decided_at }: DecisionRow): ExecutionDecision {
  return { approver, verdict, comment, decided_at: new Date(decided_at).toISOString() };
}
