import { type ApprovalRule, type ApprovalStatus, approvals, type SqlText, sqlText } from '@belay/db';
import type { Json } from '@belay/workflow';
import type { LedgerEntry } from '../ledger/append.js';
import { describeRule, hasMore, stageOf } from './subject.js';

/** An approval that is about to be opened. */
export interface Question {
  id: string;
  executionId: string;
  stepKey: string;
  /** Counted from 0 within its step. */
  stage: number;
  rule: ApprovalRule;
  excluded: string[];
  /** Null after a stage that an older version opened. */
  knownAs: string[];
  subject: Json;
  digest: string;
  expiresAt: Date;
  /** The approval that this one replaces, and why. */
  renews?: { id: string; because: string };
}

/** An approval that its decisions, or its expiry, have settled. */
export interface Closing {
  id: string;
  rule: ApprovalRule;
  status: Exclude<ApprovalStatus, 'open' | 'withdrawn'>;
}

/** Returns the expression that opens approvals. `gate`: a relation with the `id` of each execution that may have them. */
export function openingQuestions(questions: readonly Question[], gate: SqlText): SqlText {
  const rows = questions.map((one) => ({
    id: one.id,
    execution_id: one.executionId,
    step_key: one.stepKey,
    stage: one.stage,
    rule: one.rule,
    excluded: one.excluded,
    known_as: one.knownAs,
    subject: one.subject,
    request_digest: one.digest,
    expires_at: one.expiresAt.toISOString(),
    renews: one.renews?.id,
    because: one.renews?.because,
  }));
  return sqlText`questions as (
    insert into ${approvals} (id, execution_id, step_key, stage, rule, excluded, known_as, subject, request_digest, status, expires_at, renews, because)
    select one.id, one.execution_id, step_key, stage, rule, excluded, known_as, subject, request_digest, 'open', expires_at, renews, because
    from ${gate} join jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as one (id uuid, execution_id uuid, step_key text, stage int,
      rule jsonb, excluded jsonb, known_as jsonb, subject jsonb, request_digest text, expires_at timestamptz, renews uuid, because text)
      on one.execution_id = ${gate}.id
    on conflict do nothing returning id)`;
}

/** Returns the expression that closes approvals of the execution of `gate`. */
export function closingQuestions(closings: readonly Closing[], gate: SqlText): SqlText {
  const rows = closings.map(({ id, status }) => ({ id, status }));
  return sqlText`settled as (
    update ${approvals} set status = one.status, closed_at = app_now()
    from ${gate}, jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as one (id uuid, status text)
    where ${approvals}.id = one.id and ${approvals}.status = 'open')`;
}

/** Returns the ledger entry of an approval that was opened. */
export function openedEntry(question: Question, ownerId: string): LedgerEntry {
  const { executionId, rule, digest, expiresAt, renews } = question;
  const waiting = `Waiting for approval by ${describeRule(rule)}`;
  return {
    type: 'approval.opened',
    ...(renews ? { level: 'warning' as const } : {}),
    message: renews ? `${waiting} again. ${renews.because}` : waiting,
    actor: { kind: 'system', name: 'approvals' },
    userId: ownerId,
    executionId,
    data: {
      rule,
      request_digest: digest,
      expires_at: expiresAt.toISOString(),
      ...(renews ? { renews: renews.id } : {}),
    },
  };
}

const messages: Record<Closing['status'], string> = {
  approved: 'The request was approved',
  denied: 'The request was denied',
  expired: 'No approver decided in time: the request is denied',
};

/** Returns the ledger entry of an approval that was closed. A request is approved only with its last stage. */
export function closedEntry(
  { id, status, rule }: Closing,
  { executionId, ownerId }: { executionId: string; ownerId: string },
): LedgerEntry {
  const { stage, stages } = stageOf(rule);
  const isPart = status === 'approved' && hasMore(rule);
  return {
    type: `approval.${status}`,
    message: isPart ? `Stage ${stage} of ${stages} was approved` : messages[status],
    level: status === 'approved' ? 'info' : 'warning',
    actor: { kind: 'system', name: 'approvals' },
    userId: ownerId,
    executionId,
    data: { approval: id },
  };
}
