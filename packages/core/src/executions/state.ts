import type { ExecutionState, GrantState } from '@belay/contract/executions';
import { type ApprovalStatus, approvals, grants } from '@belay/db';
import { and, inArray, type SQL, sql } from 'drizzle-orm';
import { isLiveIn, isNotOver } from '../access/wanted.js';
import type { Store } from '../context.js';
import type { GrantTimes } from './outcome.js';

interface Standing {
  /** The status of the workflow. */
  status: string;
  ended: boolean;
  grants: readonly GrantState[];
  approvals: readonly ApprovalStatus[];
}

/**
 * Returns the state of a request. Held access comes before the state of the workflow: a workflow that waits for the
 * end of access is not what a person waits for.
 */
export function executionState({ status, ended, grants: held, approvals: asked }: Standing): ExecutionState {
  if (held.includes('granting')) return 'granting';
  if (held.includes('active')) return 'active';
  if (held.includes('ended')) return 'ending';
  if (status === 'cancelled' || status === 'terminated') return status;
  const granted = held.includes('gone');
  // A denied request is `denied` even when the workflow turns the denial into a fault.
  if (!granted && asked.some((each) => each === 'denied' || each === 'expired')) return 'denied';
  if (status === 'faulted') return 'failed';
  if (granted) return 'ended';
  if (asked.includes('open')) return 'waiting_for_approval';
  return ended ? 'ended' : 'running';
}

/** Returns the state and the grants of each execution, by id. */
export async function readStandings(
  ctx: Store,
  executions: readonly { id: string; status: string; endedAt: Date | null }[],
  now: Date,
): Promise<Map<string, { state: ExecutionState; grants: GrantTimes[] }>> {
  if (executions.length === 0) return new Map();
  const ids = executions.map(({ id }) => id);
  const [held, asked] = await Promise.all([
    ctx.db
      .select({
        executionId: grants.executionId,
        activatedAt: grants.activatedAt,
        endedAt: grants.endedAt,
        goneAt: grants.goneAt,
        expiresAt: grants.expiresAt,
        activateBy: grants.activateBy,
        failedBeside,
      })
      .from(grants)
      .where(and(inArray(grants.executionId, ids), isNotOver)),
    ctx.db
      .select({ executionId: approvals.executionId, status: approvals.status })
      .from(approvals)
      .where(inArray(approvals.executionId, ids)),
  ]);
  return new Map(
    executions.map(({ id, status, endedAt }) => {
      const own = held.filter(({ executionId }) => executionId === id);
      const state = executionState({
        status,
        ended: endedAt !== null,
        grants: own.map((grant) => grantState(grant, now)),
        approvals: asked.filter(({ executionId }) => executionId === id).map((approval) => approval.status),
      });
      return [id, { state, grants: own }];
    }),
  );
}

/** Whether a grant failed while another grant keeps the access, so that nothing must be revoked. */
export const failedBeside: SQL<boolean> = sql<boolean>`(${grants}.ended_reason = 'failed' and exists (
  select from ${grants} as other
  where other.entitlement_id = ${grants}.entitlement_id and ${isLiveIn('other')}))`;

/** Returns the state of a grant. */
export function grantState(
  grant: {
    activatedAt: Date | null;
    endedAt: Date | null;
    goneAt: Date | null;
    expiresAt: Date | null;
    activateBy: Date | null;
    failedBeside: boolean | null;
  },
  now: Date,
): GrantState {
  if (grant.goneAt) return 'gone';
  if (grant.failedBeside) return 'failed';
  const overAt = grant.expiresAt ?? grant.activateBy;
  if (grant.endedAt || (overAt && overAt.getTime() <= now.getTime())) return 'ended';
  return grant.activatedAt ? 'active' : 'granting';
}
