import { approvals, type Database, decisions, type Transaction } from '@belay/db';
import { asc, eq, sql } from 'drizzle-orm';
import type { Catalog } from '../configuration/catalog.js';
import type { ElevationInput } from '../plans/input.js';
import type { ApprovalSubject } from './inbox.js';

type Approval = typeof approvals.$inferSelect;

export type CurrentApproval = Approval & {
  /** The ids of those who approved it. */
  approvers: string[];
  /** When it can no longer be used for a grant; null while it is not approved. */
  until: Date | null;
  /**
   * Approved, but too long ago for a grant, or by a version that did not store the target: it must be requested again.
   */
  lapsed: boolean;
};

/** Returns how long an approval of a request may wait to be granted, in milliseconds, by the current configuration. */
export function approvalLifetime(catalog: Catalog, input: Pick<ElevationInput, 'role' | 'dynamic'>): number {
  const role = input.dynamic ? undefined : catalog.roles.get(input.role);
  return role?.approvalLifetime ?? catalog.approvalLifetime;
}

/** The approvals of an execution that count, and which approvals it has at all, as `approvals_are` compares them. */
export interface ReadApprovals {
  are: string;
  current: CurrentApproval[];
}

/**
 * Returns the approvals of an execution that count, oldest first: of an approval that was requested again, the latest.
 */
export async function readCurrentApprovals(
  tx: Database | Transaction,
  executionId: string,
  lifetime: number,
): Promise<ReadApprovals> {
  const rows = await tx
    .select({
      approval: approvals,
      now: sql<string>`app_now()`,
      approvers: sql<string[] | null>`(select jsonb_agg(${decisions.approverId}) from ${decisions}
        where ${decisions.approvalId} = ${approvals.id} and ${decisions.verdict} = 'approve')`,
    })
    .from(approvals)
    .where(eq(approvals.executionId, executionId))
    .orderBy(asc(approvals.createdAt), asc(approvals.stage), asc(approvals.id));
  const renewed = new Set(rows.map(({ approval }) => approval.renews));
  const are = rows
    .map(({ approval: { id, status } }) => `${id} ${status}`)
    .sort()
    .join(',');
  const current = rows
    .filter(({ approval }) => !renewed.has(approval.id))
    .map(({ approval, now, approvers }) => {
      const decided = decidedAt(
        approval,
        rows.map((row) => row.approval),
      );
      const until = decided && new Date(decided.getTime() + lifetime);
      const pinned = (approval.subject as ApprovalSubject).grants.every(({ pin }) => pin !== undefined);
      return {
        ...approval,
        approvers: approvers ?? [],
        until,
        lapsed: until !== null && (until <= new Date(now) || !pinned),
      };
    });
  return { are, current };
}

/**
 * Returns when an approval was given, or null while it is not. Every stage of a step counts from the approval of the last
 * stage, because the earlier ones had to wait for it.
 */
function decidedAt(approval: Approval, all: readonly Approval[]): Date | null {
  if (approval.status !== 'approved') return null;
  const stages =
    approval.renews === null
      ? all.filter(
          ({ stepKey, renews, status }) => stepKey === approval.stepKey && renews === null && status === 'approved',
        )
      : [approval];
  const ends = stages.flatMap(({ closedAt }) => (closedAt ? [closedAt.getTime()] : []));
  return ends.length === 0 ? null : new Date(Math.max(...ends));
}
