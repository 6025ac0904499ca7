import { AccessError } from '@belay/contract/errors';
import { approvals, type Database, type Transaction } from '@belay/db';
import { type CallFunction, lockExecution, type Performed, parkCall, parked } from '@belay/engine';
import { and, desc, eq } from 'drizzle-orm';
import { settleApproval } from '../approvals/settle.js';
import { openStage, readStages } from '../approvals/stages.js';
import { describeRule, excludedFrom, stageOf, subjectOf } from '../approvals/subject.js';
import type { Context } from '../context.js';
import { deliverMessages } from '../messages/deliver.js';
import { keyOfStep, queueMessage } from '../messages/queue.js';
import type { ElevationCall } from '../plans/input.js';
import { planElevation } from '../plans/plan.js';

/**
 * `access.approve`: shows the approvers of its first stage exactly what would be granted, and waits. Each further stage
 * is opened by the decision that completes the stage before it. A missing decision counts as a denial
 * (docs/architecture.md, section 5).
 */
export const approve = {
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    const { notify } = readStages(call.with);
    const plan = (await readLast(ctx.db, call)) === undefined ? await planElevation(ctx, call, signal) : null;
    const expiresAt = await ctx.db.transaction(async (tx) => {
      const locked = await lockExecution(tx, call.executionId, call.key);
      if (!locked?.step || locked.step.attempt !== call.attempt) return null;
      const { key, executionId, ownerId } = call;
      const { request } = locked.step;
      // The approvers' time starts when they can see the request, not while a provider was down.
      const waits =
        plan === null
          ? // Read again under the lock: a decision may have opened another stage meanwhile.
            await readLast(tx, call)
          : await openStage(ctx, tx, {
              executionId,
              key,
              ownerId,
              request,
              index: 0,
              excluded: excludedFrom(plan, call.input.user.email),
              knownAs: plan.knownAs.flat(),
              subject: subjectOf(plan),
              digest: plan.digest,
              now: locked.now,
            });
      if (waits === undefined) throw new AccessError('conflict', 'The approval is no longer there');
      const { id: approvalId, rule } = waits;
      const { stage } = stageOf(rule);
      await parkCall(tx, call, {
        waitingFor: `approval by ${describeRule(rule)}`,
        dueAt: waits.expiresAt,
        waiting: true,
      });
      if (notify) {
        const { provider, to, message: text } = notify;
        const ofStep = keyOfStep(executionId, key);
        const once = stage === 1 ? ofStep : `${ofStep}#${approvalId}`;
        await queueMessage(tx, { id: ctx.newId(), key: once, approvalId, provider, to, text });
      }
      return waits.expiresAt;
    });
    ctx.crashpoint('approval opened');
    // A message that cannot be delivered delays nothing: the inbox shows the request nevertheless.
    if (notify) await deliverMessages(ctx, { executionId: call.executionId });
    if (expiresAt) {
      ctx.waker.wake([{ queue: 'executions', executionId: call.executionId, key: call.key, dueAt: expiresAt }]);
    }
    return parked;
  },
  progress: settleApproval,
} satisfies CallFunction;

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
