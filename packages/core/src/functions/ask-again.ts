import { lockExecution, type Performed, parkCall, parked } from '@belay/engine';
import { readCurrentApprovals } from '../approvals/current.js';
import { type Approved, judgeApprovals } from '../approvals/judge.js';
import { renewApprovals } from '../approvals/renew.js';
import { describeRule } from '../approvals/subject.js';
import type { Context } from '../context.js';
import { deliverMessages } from '../messages/deliver.js';
import { queueMessage } from '../messages/queue.js';
import type { ElevationCall } from '../plans/input.js';
import type { Plan } from '../plans/plan.js';

/**
 * Rejects a plan that was not approved, and requests approval again for one that was approved too long ago (decision 0040). Returns the
 * approvals by which the plan may be granted, or what the call has to do instead.
 */
export async function askAgain(
  ctx: Context,
  call: ElevationCall,
  { plan, lifetime }: { plan: Plan; lifetime: number },
): Promise<{ approved: Approved } | { performed: Performed }> {
  // Most approvals have not lapsed, so they are read without a lock here. The intent compares them under its own lock.
  const seen = judgeApprovals(await readCurrentApprovals(ctx.db, call.executionId, lifetime), plan);
  if ('approved' in seen) return seen;
  // The step of a new approval must be stored: the next attempt finds it so.
  if (call.pending) return { performed: { kind: 'again', after: 0, because: 'its approval' } };
  const asked = await look(ctx, call, { plan, lifetime });
  ctx.crashpoint('asked again');
  if (asked.told) await deliverMessages(ctx, { executionId: call.executionId });
  if (asked.dueAt) {
    const { executionId, key } = call;
    ctx.waker.wake([{ queue: 'executions', executionId, key, dueAt: asked.dueAt }]);
  }
  return asked.is;
}

interface Asked {
  is: { approved: Approved } | { performed: Performed };
  dueAt?: Date;
  told?: boolean;
}

/** Judges the approvals under the execution's lock, and requests lapsed ones again. */
function look(ctx: Context, call: ElevationCall, { plan, lifetime }: { plan: Plan; lifetime: number }): Promise<Asked> {
  return ctx.db.transaction(async (tx): Promise<Asked> => {
    const execution = await lockExecution(tx, call.executionId, call.key);
    if (!execution?.step || execution.step.attempt !== call.attempt) return { is: { performed: parked } };
    const read = await readCurrentApprovals(tx, call.executionId, lifetime);
    const open = read.current.filter(({ status, renews }) => status === 'open' && renews !== null);
    const own = open.filter(({ stepKey }) => stepKey === call.key);
    const [first] = own;
    if (first) {
      await parkCall(tx, call, {
        waitingFor: `approval by ${describeRule(first.rule)}, requested again: ${first.because}`,
        dueAt: new Date(Math.min(...own.map(({ expiresAt }) => expiresAt.getTime()))),
        waiting: true,
      });
      return { is: { performed: parked } };
    }
    // Another branch has requested approval again: the decision there counts here.
    if (open.length > 0)
      return { is: { performed: { kind: 'again', after: ctx.timing.lease, because: 'an approval' } } };
    const judged = judgeApprovals(read, plan);
    if ('refusal' in judged) return { is: { performed: { kind: 'outcome', outcome: judged.refusal } } };
    if ('approved' in judged) return { is: judged };
    const { dueAt, tell } = await renewApprovals(ctx, tx, call, execution, { lapsed: judged.lapsed, plan, lifetime });
    for (const { approvalId, telling } of tell) {
      const { provider, to, message: text } = telling;
      const key = `${call.executionId}${call.key}#${approvalId} ${provider} ${to}`;
      await queueMessage(tx, { id: ctx.newId(), key, approvalId, cause: call.ownerId, provider, to, text });
    }
    return { is: { performed: parked }, dueAt, told: tell.length > 0 };
  });
}
