import { approvals, executions } from '@belay/db';
import { desc, eq, or } from 'drizzle-orm';
import type { Store } from '../context.js';
import { isId } from '../find-execution.js';

export type FoundApproval = typeof approvals.$inferSelect & { ownerId: string };

/** Returns the approval with this id, or the approvals of the execution with this id: the open ones first, then the latest. */
export async function findApprovals(ctx: Store, id: string): Promise<FoundApproval[]> {
  if (!isId(id)) return [];
  const rows = await ctx.db
    .select({ approval: approvals, ownerId: executions.ownerId })
    .from(approvals)
    .innerJoin(executions, eq(executions.id, approvals.executionId))
    .where(or(eq(approvals.id, id), eq(approvals.executionId, id)))
    .orderBy(
      desc(eq(approvals.id, id)),
      desc(eq(approvals.status, 'open')),
      desc(approvals.createdAt),
      desc(approvals.stage),
    );
  return rows.map(({ approval, ownerId }) => ({ ...approval, ownerId }));
}
