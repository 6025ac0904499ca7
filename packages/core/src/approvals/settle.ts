import { execute, joinTexts, type SqlText, sqlText, type Transaction } from '@belay/db';
import { type Locked, type Progress, waitOn } from '@belay/engine';
import type { Json, Outcome } from '@belay/workflow';
import type { Store } from '../context.js';
import { NOT_APPROVED } from '../faults.js';
import { appending, type LedgerEntry } from '../ledger/append.js';
import { countPeople } from '../people/selves.js';
import { type FoundApproval, findApprovals, type Made } from './find.js';
import { nextStage } from './stages.js';
import { describeRule, hasMore, stageOf } from './subject.js';
import {
  type Closing,
  closedEntry,
  closingQuestions,
  openedEntry,
  openingQuestions,
  type Question,
} from './write-questions.js';

/** What the decisions on the approvals of a step mean, and their expiry. */
export interface Settlement {
  closings: Closing[];
  /** The next stage, which begins with the approval of the one before: the request is never between two stages. */
  opens?: Question;
  /** The outcome of the step; absent while it waits. */
  outcome?: Outcome;
  /** Set when the step continues without an outcome: it waits for the next stage, or it grants. */
  continues?: { waitingFor?: string };
}

/** The approvals of one step, with the decisions that count. */
interface Asked {
  executionId: string;
  ownerId: string;
  key: string;
  found: readonly FoundApproval[];
  now: Date;
}

/**
 * Returns what closes the approvals of a step that their decisions, or their expiry, have settled. Fails closed: too many denials, or
 * no decision in time, is a denial. Approvals that a granting step has requested again fault it when one is not approved; when
 * all are, it plans again and grants.
 */
export async function settleStep(ctx: Store, db: Store['db'] | Transaction, asked: Asked): Promise<Settlement> {
  const rows = asked.found
    .filter(({ stepKey }) => stepKey === asked.key)
    .toSorted((one, other) => one.stage - other.stage);
  const settled: { row: FoundApproval; status: FoundApproval['status'] }[] = [];
  for (const row of rows) settled.push({ row, status: await statusOf(db, row, asked.now) });
  const closings = settled.flatMap(({ row, status }): Closing[] =>
    row.status === 'open' && status !== 'open' && status !== 'withdrawn'
      ? [{ id: row.id, rule: row.rule, status }]
      : [],
  );
  const last = settled.at(-1);
  if (!last) return { closings };
  if (last.row.renews !== null) return { closings, ...settleAgain(settled.map(({ status }) => status)) };
  if (last.status === 'open') return { closings };
  if (last.status === 'approved' && hasMore(last.row.rule)) {
    const opens = nextStage(ctx, last.row, asked.now);
    return { closings, opens, continues: { waitingFor: `approval by ${describeRule(opens.rule)}` } };
  }
  const value: Json = {
    approved: last.status === 'approved',
    decisions: settled.flatMap(({ row }) =>
      row.made.map(({ approver, verdict, comment, at }) => ({
        approver,
        verdict,
        comment,
        at: at.toISOString(),
        stage: stageOf(row.rule).stage,
      })),
    ),
  };
  return { closings, outcome: { ok: true, value } };
}

/** Returns what the states of approvals that were requested again mean for their granting step. */
function settleAgain(statuses: readonly FoundApproval['status'][]): Pick<Settlement, 'outcome' | 'continues'> {
  if (statuses.some((status) => status !== 'open' && status !== 'approved')) {
    const detail = 'The request was not approved when approval was requested again';
    return { outcome: { ok: false, fault: { type: NOT_APPROVED, status: 403, title: 'Not approved', detail } } };
  }
  return statuses.includes('open') ? {} : { continues: {} };
}

async function statusOf(
  db: Store['db'] | Transaction,
  { status, rule, made, expiresAt }: FoundApproval,
  now: Date,
): Promise<FoundApproval['status']> {
  if (status !== 'open') return status;
  const voices = { approve: await countVoices(db, made, 'approve'), deny: await countVoices(db, made, 'deny') };
  if (voices.deny >= rule.refusals) return 'denied';
  if (expiresAt <= now) return 'expired';
  return voices.approve >= rule.count ? 'approved' : 'open';
}

/** Returns how many people decided so: several identities of one person count once. */
function countVoices(db: Store['db'] | Transaction, made: readonly Made[], verdict: Made['verdict']): Promise<number> {
  const voices = made.filter((decision) => decision.verdict === verdict);
  return countPeople(
    db,
    voices.map(({ approverId }) => approverId),
  );
}

/** Returns the parts of a statement that write a settlement, except for the outcome. `gate`: a relation with the execution's `id`. */
export function writingSettlement(
  { closings, opens }: Settlement,
  { executionId, ownerId }: { executionId: string; ownerId: string },
  gate: SqlText,
): { parts: SqlText[]; entries: LedgerEntry[] } {
  return {
    parts: [
      ...(closings.length > 0 ? [closingQuestions(closings, gate)] : []),
      ...(opens ? [openingQuestions([opens], gate)] : []),
    ],
    entries: [
      ...closings.map((closing) => closedEntry(closing, { executionId, ownerId })),
      ...(opens ? [openedEntry(opens, ownerId)] : []),
    ],
  };
}

/**
 * Closes the approvals of a step that are settled, by their expiry too. Returns the outcome of the step; null while it waits. The caller
 * holds the execution's lock.
 */
export async function settleApprovals(
  ctx: Store,
  tx: Transaction,
  execution: Locked,
  key: string,
): Promise<Progress | null> {
  const { id: executionId, ownerId, now } = execution;
  const found = await findApprovals(tx, executionId);
  const settlement = await settleStep(ctx, tx, { executionId, ownerId, key, found, now });
  const { parts, entries } = writingSettlement(settlement, { executionId, ownerId }, sqlText`moved`);
  if (parts.length > 0) {
    await execute(
      tx,
      sqlText`with moved as (select ${executionId}::uuid as id), ${joinTexts(parts, ', ')}, ${appending(entries, { when: sqlText`moved` })}
        select count(*) from notified`,
    );
  }
  const { outcome, continues } = settlement;
  if (continues) await waitOn(tx, { executionId, key }, { ...continues, after: 0 });
  return outcome ? { outcome } : null;
}
