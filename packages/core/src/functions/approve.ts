import { AccessError } from '@belay/contract/errors';
import { type ApprovalRule, approvals, type Database, executeBeside, sqlText, type Transaction } from '@belay/db';
import {
  type CallFunction,
  lockExecution,
  type Performed,
  parkCall,
  parked,
  parkingWith,
  retryDeadlock,
} from '@belay/engine';
import { and, desc, eq } from 'drizzle-orm';
import { settleApprovals } from '../approvals/settle.js';
import { questionOf, readStages } from '../approvals/stages.js';
import { describeRule, excludedFrom, stageOf, subjectOf } from '../approvals/subject.js';
import { openedEntry, openingQuestions } from '../approvals/write-questions.js';
import type { Context } from '../context.js';
import { deliverMessages } from '../messages/deliver.js';
import { keyOfStep, type Queued, queueingMessages, queueMessage } from '../messages/queue.js';
import { readNow } from '../now.js';
import type { ElevationCall } from '../plans/input.js';
import { type Plan, planElevation } from '../plans/plan.js';

/**
 * `access.approve`: shows the approvers of its first stage exactly what would be granted, and waits. Each further stage
 * is opened by the decision that completes the stage before it. A missing decision counts as a denial
 * (docs/architecture.md, section 5).
 */
export const approve = {
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    const opened = (await readLast(ctx.db, call)) !== undefined;
    const expiresAt = opened
      ? await lookAgain(ctx, call)
      : await open(ctx, call, await planElevation(ctx, call, signal));
    ctx.crashpoint('approval opened');
    // A message that cannot be delivered delays nothing: the inbox shows the request nevertheless.
    if (readStages(call.with).notify) await deliverMessages(ctx, { executionId: call.executionId });
    if (expiresAt) {
      ctx.waker.wake([{ queue: 'executions', executionId: call.executionId, key: call.key, dueAt: expiresAt }]);
    }
    return parked;
  },
  progress: settleApprovals,
} satisfies CallFunction;

/** Opens the first stage and parks the call, in one statement. Returns when the approval expires; null when the call is no longer ours. */
async function open(ctx: Context, call: ElevationCall, plan: Plan): Promise<Date | null> {
  // The approvers' time starts when they can see the request, not while a provider was down.
  const now = await readNow(ctx.db);
  const { question, message, waitingFor, entry } = openingFirst(ctx, call, plan, now);
  const next = question.expiresAt.getTime() - now.getTime();
  const opening = openingQuestions([question], sqlText`moved`);
  const after = message ? [opening, sqlText`queued as (${queueingMessages([message])})`] : [opening];
  const written = { waitingFor, next, waiting: true, entries: [entry], after };
  const statement = parkingWith(ctx, call, written);
  const rows = await retryDeadlock(() => executeBeside(ctx.db, statement, [call.executionId]));
  return rows.length > 0 ? question.expiresAt : null;
}

/** Returns the approval of the first stage, its message, what the call then waits for, and the ledger's entry. */
export function openingFirst(
  ctx: Context,
  call: Pick<ElevationCall, 'executionId' | 'key' | 'ownerId' | 'with' | 'input'>,
  plan: Plan,
  now: Date,
) {
  const { executionId, key: stepKey, ownerId } = call;
  const settings = readStages(call.with);
  const content = {
    executionId,
    stepKey,
    excluded: excludedFrom(plan, call.input.user.email),
    knownAs: plan.knownAs.flat(),
    subject: subjectOf(plan),
    digest: plan.digest,
  };
  const question = questionOf(ctx, content, { settings, index: 0, now });
  const message = settings.notify && messageOf(ctx, call, { ...settings.notify, approvalId: question.id, stage: 1 });
  return { question, message, waitingFor: waitingFor(question.rule), entry: openedEntry(question, ownerId) };
}

function waitingFor(rule: ApprovalRule): string {
  return `approval by ${describeRule(rule)}`;
}

function messageOf(
  ctx: Context,
  { executionId, key, ownerId: cause }: Pick<ElevationCall, 'executionId' | 'key' | 'ownerId'>,
  { provider, to, message: text, approvalId, stage }: Notify & { approvalId: string; stage: number },
): Queued {
  const ofStep = keyOfStep(executionId, key);
  return {
    id: ctx.newId(),
    key: stage === 1 ? ofStep : `${ofStep}#${approvalId}`,
    approvalId,
    cause,
    provider,
    to,
    text,
  };
}

type Notify = NonNullable<ReturnType<typeof readStages>['notify']>;

/** Waits for the latest stage, and queues its message: a decision may have opened it. Returns when the approval expires. */
function lookAgain(ctx: Context, call: ElevationCall): Promise<Date | null> {
  return ctx.db.transaction(async (tx) => {
    const locked = await lockExecution(tx, call.executionId, call.key);
    if (!locked?.step || locked.step.attempt !== call.attempt) return null;
    const last = await readLast(tx, call);
    if (last === undefined) throw new AccessError('conflict', 'The approval is no longer there');
    const { id: approvalId, rule, expiresAt } = last;
    await parkCall(tx, call, { waitingFor: waitingFor(rule), dueAt: expiresAt, waiting: true });
    const { notify } = readStages(call.with);
    if (notify) await queueMessage(tx, messageOf(ctx, call, { ...notify, approvalId, stage: stageOf(rule).stage }));
    return expiresAt;
  });
}

/** Returns the approval of the latest stage that a step has opened; undefined before the first. */
async function readLast(db: Database | Transaction, { executionId, key }: ElevationCall) {
  const [last] = await db
    .select({ id: approvals.id, expiresAt: approvals.expiresAt, rule: approvals.rule })
    .from(approvals)
    .where(and(eq(approvals.executionId, executionId), eq(approvals.stepKey, key)))
    .orderBy(desc(approvals.stage))
    .limit(1);
  return last;
}
