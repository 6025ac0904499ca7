import type { Verdict } from '@belay/contract/fields';
import {
  type ApprovalRule,
  type ApprovalStatus,
  approvals,
  type Database,
  decisions,
  execute,
  executions,
  sqlText,
  steps,
  type Transaction,
  users,
} from '@belay/db';
import { isId } from '../find-execution.js';

/** A decision of one approver. */
export interface Made {
  approverId: string;
  /** The approver's address. */
  approver: string;
  verdict: Verdict;
  comment: string | null;
  at: Date;
}

/** An approval with its decisions, in the order in which they were made. */
export interface FoundApproval {
  id: string;
  executionId: string;
  ownerId: string;
  stepKey: string;
  stage: number;
  rule: ApprovalRule;
  excluded: string[];
  knownAs: string[];
  subject: unknown;
  requestDigest: string;
  status: ApprovalStatus;
  expiresAt: Date;
  createdAt: Date;
  /** The approval that this one replaces; null for a first one. */
  renews: string | null;
  made: Made[];
  /** The request of its step; null when the step has ended. */
  request: unknown;
  /** Whether its execution has ended. */
  ended: boolean;
  /** The address of the person who reads this, as decisions name their approver; null without one. */
  reader: string | null;
  /** When this was read. */
  now: Date;
}

/** Texts of times are those of the database. */
type Row = Omit<FoundApproval, 'expiresAt' | 'createdAt' | 'now' | 'made'> & {
  expiresAt: string;
  createdAt: string;
  now: string;
  made: (Omit<Made, 'at'> & { at: string })[] | null;
};

/**
 * Returns the approval with this id before the others of its execution, or the approvals of the execution with this id: the open ones
 * first, then the latest. `readerId`: the user who reads them.
 */
export async function findApprovals(
  db: Database | Transaction,
  id: string,
  readerId?: string,
): Promise<FoundApproval[]> {
  if (!isId(id)) return [];
  const rows = await execute<Row>(
    db,
    sqlText`
    select a.id, a.execution_id as "executionId", e.owner_id as "ownerId", a.step_key as "stepKey", a.stage, a.rule, a.excluded,
      a.known_as as "knownAs", a.subject, a.request_digest as "requestDigest", a.status, a.expires_at as "expiresAt",
      a.created_at as "createdAt", a.renews, e.ended_at is not null as ended, app_now() as now,
      (select email from ${users} where id = ${readerId ?? null}::uuid) as reader,
      (select request from ${steps} s where s.execution_id = a.execution_id and s.key = a.step_key and s.status = 'open') as request,
      (select jsonb_agg(jsonb_build_object('approverId', d.approver_id, 'approver', u.email, 'verdict', d.verdict,
          'comment', d.comment, 'at', d.decided_at) order by d.decided_at)
        from ${decisions} d join ${users} u on u.id = d.approver_id where d.approval_id = a.id) as made
    from ${approvals} a join ${executions} e on e.id = a.execution_id
    where a.execution_id = coalesce((select execution_id from ${approvals} where id = ${id}::uuid), ${id}::uuid)
    order by a.id = ${id}::uuid desc, a.status = 'open' desc, a.created_at desc, a.stage desc`,
  );
  return rows.map((row) => ({
    ...row,
    expiresAt: new Date(row.expiresAt),
    createdAt: new Date(row.createdAt),
    now: new Date(row.now),
    made: (row.made ?? []).map((one) => ({ ...one, at: new Date(one.at) })),
  }));
}

/** Returns which approvals and decisions these are, as `admit_decision` compares them. */
export function identifyDecisions(found: readonly FoundApproval[]): string {
  const asked = found.map(({ id, status }) => `${id} ${status}`).sort();
  const made = found
    .flatMap(({ id, made: all }) => all.map(({ approverId, verdict }) => `${id} ${approverId} ${verdict}`))
    .sort();
  return `${asked.join(',')};${made.join(',')}`;
}
