import { formatDuration } from '@belay/contract/durations';
import { approvals, execute, messages, sqlText, type Transaction } from '@belay/db';
import { type Locked, parkCall } from '@belay/engine';
import type { Json } from '@belay/workflow';
import { and, count, eq, like } from 'drizzle-orm';
import type { approveWith } from '../configuration/function-checks.js';
import type { Store } from '../context.js';
import { appending } from '../ledger/append.js';
import type { ElevationCall } from '../plans/input.js';
import type { Plan } from '../plans/plan.js';
import type { CurrentApproval } from './current.js';
import { describeRule, excludedFrom, subjectOf } from './subject.js';
import { openedEntry, openingQuestions, type Question } from './write-questions.js';

/** Whom to notify of a request for a new approval. */
type Telling = NonNullable<(typeof approveWith)['_output']['notify']>;

/**
 * Submits a request to its approvers again, by the rules of the approvals that ended before they were used, and parks
 * the granting step until they have decided. The caller holds the execution's lock. Returns when the first new
 * approval expires, and whom to notify of each.
 */
export async function renewApprovals(
  ctx: Store,
  tx: Transaction,
  call: ElevationCall,
  execution: Locked,
  renewal: { lapsed: readonly CurrentApproval[]; plan: Plan; lifetime: number },
): Promise<{ dueAt: Date; tell: { approvalId: string; telling: Telling }[] }> {
  const { lapsed, plan, lifetime } = renewal;
  const [earlier] = await tx
    .select({ count: count() })
    .from(approvals)
    .where(and(eq(approvals.executionId, call.executionId), eq(approvals.stepKey, call.key)));
  const questions = lapsed.map(
    (row, index): Question => ({
      id: ctx.newId(),
      executionId: call.executionId,
      stepKey: call.key,
      stage: (earlier?.count ?? 0) + index,
      rule: row.rule,
      excluded: excludedFrom(plan, call.input.user.email),
      knownAs: plan.knownAs.flat(),
      subject: subjectOf(plan) as Json,
      digest: plan.digest,
      expiresAt: new Date(execution.now.getTime() + row.expiresAt.getTime() - row.createdAt.getTime()),
      renews: {
        id: row.id,
        because: `The approval of ${row.closedAt?.toISOString()} was not used within ${formatDuration(lifetime)}`,
      },
    }),
  );
  const [first] = questions;
  if (!first) throw new Error('There is no approval to renew');
  const dueAt = new Date(Math.min(...questions.map(({ expiresAt }) => expiresAt.getTime())));
  const entries = questions.map((question) => openedEntry(question, call.ownerId));
  await execute(
    tx,
    sqlText`with moved as (select ${call.executionId}::uuid as id), ${openingQuestions(questions, sqlText`moved`)},
      ${appending(entries, { when: sqlText`moved` })} select count(*) from notified`,
  );
  await parkCall(tx, call, {
    waitingFor: `approval by ${describeRule(first.rule)}, requested again: ${first.renews?.because}`,
    dueAt,
    waiting: true,
  });
  const told = await readTelling(tx, call.executionId);
  const tell = questions.flatMap(({ id }, index) =>
    told.flatMap(({ stepKey, telling }) => (stepKey === lapsed[index]?.stepKey ? [{ approvalId: id, telling }] : [])),
  );
  return { dueAt, tell };
}

/** Returns whom the workflow has notified of approvals, with which text, and the step of each approval. */
async function readTelling(tx: Transaction, executionId: string): Promise<{ stepKey: string; telling: Telling }[]> {
  // Found by the keys of the messages, because the step that sent them has ended and its row is deleted.
  const told = await tx
    .selectDistinct({
      stepKey: approvals.stepKey,
      provider: messages.provider,
      to: messages.recipient,
      text: messages.text,
    })
    .from(messages)
    .innerJoin(approvals, eq(approvals.id, messages.approvalId))
    .where(and(eq(approvals.executionId, executionId), like(messages.key, `${executionId}/%`)));
  return told.map(({ stepKey, provider, to, text }) => ({
    stepKey,
    telling: { provider, to, ...(text === null ? {} : { message: text }) },
  }));
}
