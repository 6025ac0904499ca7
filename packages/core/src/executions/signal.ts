import { AccessError, invalid } from '@belay/contract/errors';
import type { CloudEvent, Json } from '@belay/workflow';
import { z } from 'zod';
import { requireUser } from '../actor.js';
import { decideApproval } from '../approvals/decide.js';
import type { ActorContext } from '../context.js';
import { readNow } from '../now.js';
import { open, seal } from '../tokens/seal.js';
import { deliverEvent, eventOf, findToSignal, sealedEventSchema } from './deliver.js';

/** The type of the signal that carries an approver's decision (docs/architecture.md, section 12). */
export const APPROVAL_DECIDED = 'belay.approval.decided';

const decisionSchema = z.object({
  approved: z.boolean(),
  comment: z.string().optional(),
  request_digest: z.string().optional(),
});

/**
 * Creates the sealed CloudEvent that `signalExecution` accepts, for the caller and this execution only. Throws
 * `not_found` when the caller may not send events to the execution, and `invalid` for a type or data that cannot be
 * stored.
 */
export async function createSignal(
  ctx: ActorContext,
  input: { id: string; type: string; data?: Json | undefined },
): Promise<{ input: string; expires_at: string }> {
  const user = requireUser(ctx);
  const { execution } = await findToSignal(ctx, user, input.id);
  const now = await readNow(ctx.db);
  const event = eventOf(ctx, user, input, now);
  const token = await seal(
    ctx.keyring,
    'signal',
    { executionId: execution.id, userId: user.id, event },
    { now, lifetime: ctx.timing.signal },
  );
  return { input: token, expires_at: new Date(now.getTime() + ctx.timing.signal).toISOString() };
}

/**
 * Delivers a sealed signal (GET /execution/{id}/signal). It opens only for the execution and the person that it was
 * created for; a decision in it passes the same checks as every other decision. Throws `invalid` for a token that is
 * expired, modified or for another execution, `forbidden` for another person's, `conflict` for a repeat, and the errors
 * of `findToSignal`, `decideApproval` and `deliverEvent`.
 */
export async function signalExecution(
  ctx: ActorContext,
  input: { id: string; input: string },
): Promise<{ message: string; workflow_id: string }> {
  const user = requireUser(ctx);
  const now = await readNow(ctx.db);
  const parsed = sealedEventSchema.safeParse(await open(ctx.keyring, 'signal', input.input, now));
  const found = await findToSignal(ctx, user, input.id);
  const { execution } = found;
  if (!parsed.success || parsed.data.executionId !== execution.id)
    throw invalid('input', 'is not a signal for this execution');
  if (parsed.data.userId !== user.id) throw new AccessError('forbidden', 'The signal was created for another person');
  const { event } = parsed.data;
  if (event.type === APPROVAL_DECIDED) {
    const decision = decisionSchema.safeParse(event.data);
    if (!decision.success) throw invalid('input', 'is not a decision');
    const { approved, comment, request_digest } = decision.data;
    await decideApproval(ctx, {
      id: execution.id,
      verdict: approved ? 'approve' : 'deny',
      comment,
      request_digest,
      seenAt: new Date(event.time ?? 0),
      via: 'signal',
    });
    return { message: 'The decision was recorded', workflow_id: execution.id };
  }
  await deliverEvent(ctx, user, found, event as CloudEvent, { early: 'kept' });
  return { message: 'The signal was delivered', workflow_id: execution.id };
}
