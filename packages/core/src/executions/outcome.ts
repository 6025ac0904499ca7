import type { Execution, ExecutionDecision } from '@belay/contract/executions';
import { approvals, decisions, users } from '@belay/db';
import { asc, eq, inArray } from 'drizzle-orm';
import type { Store } from '../context.js';

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
  execution: { endedAt: Date | null },
  grants: readonly GrantTimes[],
  decided: readonly ExecutionDecision[],
  now: Date,
): Outcome {
  const held = grants.flatMap(({ activatedAt, expiresAt, endedAt }) =>
    activatedAt === null || expiresAt === null
      ? []
      : [{ from: activatedAt.getTime(), until: expiresAt.getTime(), over: earlier(endedAt, expiresAt) }],
  );
  const last = held.length === 0 ? (execution.endedAt?.getTime() ?? null) : Math.max(...held.map(({ over }) => over));
  return {
    decided_at: decided.at(-1)?.decided_at ?? null,
    active_from: toInstant(held.length === 0 ? null : Math.min(...held.map(({ from }) => from))),
    ends_at: toInstant(held.length === 0 ? null : Math.max(...held.map(({ until }) => until))),
    ended_at: toInstant(last !== null && last <= now.getTime() ? last : null),
    decided_by: [...decided],
  };
}

function earlier(endedAt: Date | null, expiresAt: Date): number {
  return Math.min(endedAt?.getTime() ?? Number.POSITIVE_INFINITY, expiresAt.getTime());
}

function toInstant(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Returns the decisions on executions, oldest first, each with the approval that it belongs to. */
export async function readDecisions(
  ctx: Store,
  executionIds: readonly string[],
): Promise<{ executionId: string; approvalId: string; decision: ExecutionDecision }[]> {
  if (executionIds.length === 0) return [];
  const rows = await ctx.db
    .select({ executionId: approvals.executionId, decision: decisions, approver: users.email })
    .from(decisions)
    .innerJoin(approvals, eq(approvals.id, decisions.approvalId))
    .innerJoin(users, eq(users.id, decisions.approverId))
    .where(inArray(approvals.executionId, [...executionIds]))
    .orderBy(asc(decisions.decidedAt));
  return rows.map(({ executionId, decision, approver }) => ({
    executionId,
    approvalId: decision.approvalId,
    decision: {
      approver,
      verdict: decision.verdict,
      comment: decision.comment,
      decided_at: decision.decidedAt.toISOString(),
    },
  }));
}
