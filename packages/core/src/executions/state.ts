import type { ExecutionState, GrantState, WorkflowStatus } from '@belay/contract/executions';
import { type ApprovalStatus, approvals, execute, executions, grants, type SqlText, sqlText } from '@belay/db';
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
function executionState({ status, ended, grants: held, approvals: asked }: Standing): ExecutionState {
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

/** Whether a grant failed while another grant keeps the access, so that nothing must be revoked. */
const failedBeside: SqlText = sqlText`(${grants.endedReason} = 'failed' and exists (
  select from ${grants} as other
  where other.entitlement_id = ${grants.entitlementId} and ${isLiveIn('other')}))`;

/** The pairs of a JSON object from which `standingOf` reads a row of `grants`. */
export const grantPairs: SqlText = sqlText`
  'activated_at', ${grants.activatedAt}, 'ended_at', ${grants.endedAt}, 'gone_at', ${grants.goneAt},
  'expires_at', ${grants.expiresAt}, 'activate_by', ${grants.activateBy}, 'failed_beside', ${failedBeside}`;

/** Matches the grants that show the state of the execution in the row `e`. */
export const grantsOfRow: SqlText = sqlText`${grants.executionId} = e.id and ${isNotOver}`;

/** The columns from which `standingOf` reads the execution in the row `e`. */
export const standingColumns: SqlText = sqlText`
  e.status, e.ended_at, app_now() as now,
  (select json_agg(json_build_object(${grantPairs})) from ${grants} where ${grantsOfRow}) as held,
  (select json_agg(json_build_object('status', status)) from ${approvals} where execution_id = e.id) as asked`;

/** A grant in a column of a statement: `grantPairs`. */
export interface GrantRow {
  activated_at: string | null;
  ended_at: string | null;
  gone_at: string | null;
  expires_at: string | null;
  activate_by: string | null;
  failed_beside: boolean | null;
}

/** A row with the columns that `standingOf` needs. Without grants or approvals, the column is null. */
export interface StandingRow<Grant extends GrantRow = GrantRow, Approval = unknown> {
  status: WorkflowStatus;
  ended_at: string | null;
  now: string;
  held: Grant[] | null;
  asked: (Approval & { status: ApprovalStatus })[] | null;
}

/** Returns the state of an execution, and the times of its grants with the state of each. */
export function standingOf({ status, ended_at, now, held, asked }: StandingRow): {
  status: WorkflowStatus;
  state: ExecutionState;
  grants: (GrantTimes & { state: GrantState })[];
} {
  const time = new Date(now);
  const own = (held ?? []).map((grant) => ({
    activatedAt: toDate(grant.activated_at),
    endedAt: toDate(grant.ended_at),
    expiresAt: toDate(grant.expires_at),
    state: grantState(grant, time),
  }));
  const state = executionState({
    status,
    ended: ended_at !== null,
    grants: own.map((grant) => grant.state),
    approvals: (asked ?? []).map((approval) => approval.status),
  });
  return { status, state, grants: own };
}

/** Returns a time of a row, which the driver returns as a text. */
export function toDate(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}

/** Returns the state and the status of each execution, by id; an execution that does not exist has no entry. */
export async function readStates(
  { db }: Store,
  ids: readonly string[],
): Promise<Map<string, { state: ExecutionState; status: WorkflowStatus }>> {
  const rows = await execute<StandingRow & { id: string }>(
    db,
    sqlText`select e.id, ${standingColumns} from ${executions} e where ${isOneOf(ids)}`,
  );
  return new Map(
    rows.map((row) => {
      const { state, status } = standingOf(row);
      return [row.id, { state, status }];
    }),
  );
}

/** Matches the executions of the row `e` by their ids. One parameter for any number, so that the text is the same. */
export function isOneOf(ids: readonly string[]): SqlText {
  return sqlText`e.id = any (string_to_array(${ids.join(',')}, ',')::uuid[])`;
}

function grantState(grant: GrantRow, now: Date): GrantState {
  if (grant.gone_at) return 'gone';
  if (grant.failed_beside) return 'failed';
  const overAt = toDate(grant.expires_at ?? grant.activate_by);
  if (grant.ended_at || (overAt && overAt.getTime() <= now.getTime())) return 'ended';
  return grant.activated_at ? 'active' : 'granting';
}
