import type { Verdict } from '@belay/contract/fields';
import {
  type ApprovalRule,
  type ApprovalStatus,
  approvals,
  decisions,
  inOrder,
  type Transaction,
  users,
} from '@belay/db';
import { type Locked, type Progress, waitOn } from '@belay/engine';
import type { Json } from '@belay/workflow';
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { NOT_APPROVED } from '../faults.js';
import { appendLedger } from '../ledger/append.js';
import { countPeople } from '../people/selves.js';
import { openStage } from './stages.js';
import { describeRule, hasMore, stageOf } from './subject.js';

const messages: Record<ApprovalStatus, string> = {
  open: 'The request waits for approval',
  approved: 'The request was approved',
  denied: 'The request was denied',
  expired: 'No approver decided in time: the request is denied',
  withdrawn: 'The request was cancelled',
};

/**
 * Closes an approval that its decisions, or its expiry, have settled, and returns the outcome of its step. Fails
 * closed: too many denials, or no decision in time, is a denial. An approved stage opens the next one in the same
 * transaction, so that the request is never between two stages. Returns null while a stage is open.
 */
export async function settleApproval(
  ctx: Store,
  tx: Transaction,
  execution: Locked,
  key: string,
): Promise<Progress | null> {
  const rows = await tx
    .select({ ...asked, ...content })
    .from(approvals)
    .where(and(eq(approvals.executionId, execution.id), eq(approvals.stepKey, key), isNull(approvals.renews)))
    .orderBy(asc(approvals.stage))
    .for('update');
  const last = rows.at(-1);
  if (!last) return null;
  const settled: (Awaited<ReturnType<typeof settleOne>> & { stage: number })[] = [];
  for (const row of rows) settled.push({ ...(await settleOne(tx, execution, row)), stage: stageOf(row.rule).stage });
  const status = settled.at(-1)?.status ?? 'open';
  if (status === 'open') return null;
  const { stage } = stageOf(last.rule);
  if (status === 'approved' && hasMore(last.rule)) {
    const { excluded, knownAs, digest, subject } = last;
    const { id: executionId, ownerId, now } = execution;
    const next = { executionId, key, ownerId, now, excluded, knownAs, digest, subject: subject as Json };
    const request = execution.step?.request;
    const { rule } = await openStage(ctx, tx, { ...next, request, index: stage });
    // The step is due now: it then waits for the new approvers, and sends them their message.
    await waitOn(tx, { executionId, key }, { waitingFor: `approval by ${describeRule(rule)}`, after: 0 });
    return null;
  }
  const value: Json = {
    approved: status === 'approved',
    decisions: settled.flatMap(({ made, stage: decided }) =>
      made.map(({ approver, verdict, comment, at }) => ({
        approver,
        verdict,
        comment,
        at: at.toISOString(),
        stage: decided,
      })),
    ),
  };
  return { outcome: { ok: true, value } };
}

/**
 * Closes the approvals that a granting step has requested again and that are settled. Returns the fault of the step when
 * one was not approved; null otherwise. When all are approved, the step becomes due: it plans again, and grants.
 */
export async function settleRenewals(tx: Transaction, execution: Locked, key: string): Promise<Progress | null> {
  const rows = await tx
    .select(asked)
    .from(approvals)
    .where(and(eq(approvals.executionId, execution.id), eq(approvals.stepKey, key), isNotNull(approvals.renews)))
    .orderBy(asc(approvals.stage))
    .for('update');
  if (rows.length === 0) return null;
  const statuses: ApprovalStatus[] = [];
  for (const row of rows) statuses.push((await settleOne(tx, execution, row)).status);
  if (statuses.some((status) => status !== 'open' && status !== 'approved')) {
    const detail = 'The request was not approved when approval was requested again';
    return { outcome: { ok: false, fault: { type: NOT_APPROVED, status: 403, title: 'Not approved', detail } } };
  }
  if (!statuses.includes('open')) {
    await waitOn(tx, { executionId: execution.id, key }, { after: 0 });
  }
  return null;
}

/** Returns the message about a closed approval. A request is approved only with its last stage. */
function messageOf(status: ApprovalStatus, rule: ApprovalRule): string {
  const { stage, stages } = stageOf(rule);
  return status === 'approved' && hasMore(rule) ? `Stage ${stage} of ${stages} was approved` : messages[status];
}

const asked = {
  id: approvals.id,
  status: approvals.status,
  rule: approvals.rule,
  expired: sql<boolean>`${approvals.expiresAt} <= app_now()`,
};

/** The content of an approval, which the next stage takes over. */
const content = {
  excluded: approvals.excluded,
  knownAs: approvals.knownAs,
  subject: approvals.subject,
  digest: approvals.requestDigest,
};

/** Closes one approval if it is settled. Returns its status and its decisions. */
async function settleOne(
  tx: Transaction,
  execution: Locked,
  row: Pick<typeof approvals.$inferSelect, 'id' | 'status' | 'rule'> & { expired: boolean },
) {
  const made = await tx
    .select({
      approverId: decisions.approverId,
      approver: users.email,
      verdict: decisions.verdict,
      comment: decisions.comment,
      at: decisions.decidedAt,
    })
    .from(decisions)
    .innerJoin(users, eq(users.id, decisions.approverId))
    .where(eq(decisions.approvalId, row.id))
    .orderBy(asc(decisions.decidedAt));
  const open = row.status === 'open';
  const status = open ? verdictOf(row.rule, await countVoices(tx, made), row.expired) : row.status;
  if (open && status !== 'open') {
    await inOrder([
      tx.update(approvals).set({ status, closedAt: sql`app_now()` }).where(eq(approvals.id, row.id)),
      appendLedger(tx, [
        {
          type: `approval.${status}`,
          message: messageOf(status, row.rule),
          level: status === 'approved' ? 'info' : 'warning',
          actor: { kind: 'system', name: 'approvals' },
          userId: execution.ownerId,
          executionId: execution.id,
          data: { approval: row.id },
        },
      ]),
    ]);
  }
  return { status, made };
}

/** Returns how many people approved and how many denied: several identities of one person count once. */
async function countVoices(
  tx: Transaction,
  made: readonly { approverId: string; verdict: Verdict }[],
): Promise<{ approve: number; deny: number }> {
  const voices = (verdict: Verdict) =>
    countPeople(
      tx,
      made.filter((decision) => decision.verdict === verdict).map(({ approverId }) => approverId),
    );
  return { approve: await voices('approve'), deny: await voices('deny') };
}

function verdictOf(
  rule: { count: number; refusals: number },
  voices: { approve: number; deny: number },
  expired: boolean,
): 'open' | 'approved' | 'denied' | 'expired' {
  if (voices.deny >= rule.refusals) return 'denied';
  if (expired) return 'expired';
  return voices.approve >= rule.count ? 'approved' : 'open';
}
