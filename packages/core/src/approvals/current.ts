import { approvals, type Database, type Transaction } from '@belay/db';
import { asc, eq, sql } from 'drizzle-orm';
import type { Catalog } from '../configuration/catalog.js';
import type { ElevationInput } from '../plans/input.js';
import type { ApprovalSubject } from './inbox.js';

export type CurrentApproval = typeof approvals.$inferSelect & {
  /** When it can no longer be granted on; null while it is not approved. */
  until: Date | null;
  /** Approved, and too long ago to be granted on, or by a version that did not say where: it is asked again. */
  lapsed: boolean;
};

/** Returns how long an approval of a request may wait to be granted, in milliseconds, as the configuration of now has it. */
export function approvalLifetime(catalog: Catalog, input: Pick<ElevationInput, 'role' | 'dynamic'>): number {
  const role = input.dynamic ? undefined : catalog.roles.get(input.role);
  return role?.approvalLifetime ?? catalog.approvalLifetime;
}

/** Returns the approvals of an execution that count: of one that was asked again, the latest. Oldest first. */
export async function readCurrentApprovals(
  tx: Database | Transaction,
  executionId: string,
  lifetime: number,
): Promise<CurrentApproval[]> {
  const rows = await tx
    .select({ approval: approvals, now: sql<string>`app_now()` })
    .from(approvals)
    .where(eq(approvals.executionId, executionId))
    .orderBy(asc(approvals.createdAt), asc(approvals.id));
  const renewed = new Set(rows.map(({ approval }) => approval.renews));
  return rows
    .filter(({ approval }) => !renewed.has(approval.id))
    .map(({ approval, now }) => {
      const decided = approval.status === 'approved' ? approval.closedAt : null;
      const until = decided && new Date(decided.getTime() + lifetime);
      const pinned = (approval.subject as ApprovalSubject).grants.every(({ pin }) => pin !== undefined);
      return { ...approval, until, lapsed: until !== null && (until <= new Date(now) || !pinned) };
    });
}
