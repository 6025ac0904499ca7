import { foldAddress } from '@belay/contract/address';
import { AccessError } from '@belay/contract/errors';
import { type ApprovalRule, approvals, inOrder } from '@belay/db';
import { type CallFunction, lockExecution, type Performed, parkCall, parked } from '@belay/engine';
import { and, eq } from 'drizzle-orm';
import { settleApproval } from '../approvals/settle.js';
import { describeRule, excludedFrom, subjectOf } from '../approvals/subject.js';
import { approveWith } from '../configuration/function-checks.js';
import type { Context } from '../context.js';
import { requireDuration } from '../duration.js';
import { appendLedger } from '../ledger/append.js';
import { deliverMessages } from '../messages/deliver.js';
import { keyOfStep, queueMessage } from '../messages/queue.js';
import type { ElevationCall } from '../plans/input.js';
import { planElevation } from '../plans/plan.js';

/**
 * `access.approve`: submits exactly what would be granted to the approvers, and waits. No decision is a denial
 * (docs/architecture.md, section 5).
 */
export const approve = {
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    const settings = approveWith.safeParse(call.with ?? {});
    const stage = settings.success ? settings.data.stages[0] : undefined;
    if (!settings.success || !stage) throw new AccessError('invalid', 'access.approve must name at least one approver');
    const [opened] = await ctx.db
      .select({ expiresAt: approvals.expiresAt })
      .from(approvals)
      .where(and(eq(approvals.executionId, call.executionId), eq(approvals.stepKey, call.key)));
    const plan = opened === undefined ? await planElevation(ctx, call, signal) : null;
    const { users, groups } = stage.approvers;
    const { count, refusals, distinct } = stage;
    const { notify } = settings.data;
    const folded = users.map((user) => foldAddress(user) ?? user);
    const rule: ApprovalRule = { users: folded, groups, count, refusals, ...(distinct === true ? { distinct } : {}) };
    const timeout = stage.timeout === undefined ? ctx.timing.approval : requireDuration(stage.timeout, 'timeout');
    const expiresAt = await ctx.db.transaction(async (tx) => {
      const locked = await lockExecution(tx, call.executionId, call.key);
      if (!locked?.step || locked.step.attempt !== call.attempt) return null;
      // The approvers' time starts when they can see the request, not while a provider was down.
      const expiresAt = opened?.expiresAt ?? new Date(locked.now.getTime() + timeout);
      await parkCall(tx, call, { waitingFor: `approval by ${describeRule(rule)}`, dueAt: expiresAt, waiting: true });
      if (!plan) return expiresAt;
      const approvalId = ctx.newId();
      await inOrder([
        tx
          .insert(approvals)
          .values({
            id: approvalId,
            executionId: call.executionId,
            stepKey: call.key,
            rule,
            excluded: excludedFrom(plan, call.input.user.email),
            subject: subjectOf(plan),
            requestDigest: plan.digest,
            status: 'open',
            expiresAt,
          })
          .onConflictDoNothing(),
        appendLedger(tx, [
          {
            type: 'approval.opened',
            message: `Waiting for approval by ${describeRule(rule)}`,
            actor: { kind: 'system', name: 'approvals' },
            userId: call.ownerId,
            executionId: call.executionId,
            data: { rule, request_digest: plan.digest, expires_at: expiresAt.toISOString() },
          },
        ]),
        notify &&
          queueMessage(tx, {
            id: ctx.newId(),
            key: keyOfStep(call.executionId, call.key),
            approvalId,
            provider: notify.provider,
            to: notify.to,
            text: notify.message,
          }),
      ]);
      return expiresAt;
    });
    ctx.crashpoint('approval opened');
    // A message that cannot be delivered delays nothing: the inbox shows the request nevertheless.
    if (plan && notify) await deliverMessages(ctx, { executionId: call.executionId });
    if (expiresAt) {
      ctx.waker.wake([{ queue: 'executions', executionId: call.executionId, key: call.key, dueAt: expiresAt }]);
    }
    return parked;
  },
  progress: settleApproval,
} satisfies CallFunction;
