import { approvals, signals } from '@belay/db';
import { type CloudEvent, deliver, type Json } from '@belay/workflow';
import { and, eq } from 'drizzle-orm';
import { z } from 'zod';
import { requireUser } from '../actor.js';
import { decideApproval } from '../approvals/decide.js';
import { isNamed } from '../can.js';
import type { ActorContext, UserActor } from '../context.js';
import { AccessError, invalid } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { requireJson, requireText } from '../text.js';
import { open, seal } from '../tokens/seal.js';
import { findExecution } from './find.js';
import { commit, stay } from './runtime/commit.js';

/** The type of the signal that carries an approver's decision (design §16). */
export const APPROVAL_DECIDED = 'belay.approval.decided';

const signalSchema = z.object({
  executionId: z.string(),
  /** The one person it was made for. */
  userId: z.string(),
  event: z.object({
    specversion: z.literal('1.0'),
    id: z.string().min(1),
    source: z.string().min(1),
    type: z.string().min(1),
    time: z.string().optional(),
    data: z.json().optional(),
  }),
});

const decisionSchema = z.object({
  approved: z.boolean(),
  comment: z.string().optional(),
  request_digest: z.string().optional(),
});

/**
 * Makes the sealed CloudEvent that `signalExecution` takes, for the caller and this execution only. Throws `not_found`
 * when the caller may not see the execution.
 */
export async function createSignal(
  ctx: ActorContext,
  input: { id: string; type: string; data?: Json | undefined },
): Promise<{ input: string; expires_at: string }> {
  const user = requireUser(ctx);
  requireText(input.type, 'type', 200);
  requireJson(input.data, 'data', 16_384);
  const { execution } = await findExecution(ctx, user, input.id);
  const now = await readNow(ctx.db);
  const event: CloudEvent = {
    specversion: '1.0',
    id: ctx.newId(),
    source: `urn:belay:user:${user.id}`,
    type: input.type,
    time: now.toISOString(),
    data: input.data ?? null,
  };
  const token = await seal(
    ctx.keyring,
    'signal',
    { executionId: execution.id, userId: user.id, event },
    { now, lifetime: ctx.timing.signal },
  );
  return { input: token, expires_at: new Date(now.getTime() + ctx.timing.signal).toISOString() };
}

/**
 * Delivers a sealed signal (interface, GET /execution/{id}/signal). It opens only for the execution and the person it was
 * made for; approvals go through the same door as every other decision. Throws `invalid` for a token that is expired,
 * tampered with or for another execution, `forbidden` for another person's, `conflict` for a repeat.
 */
export async function signalExecution(
  ctx: ActorContext,
  input: { id: string; input: string },
): Promise<{ message: string; workflow_id: string }> {
  const user = requireUser(ctx);
  const now = await readNow(ctx.db);
  const parsed = signalSchema.safeParse(await open(ctx.keyring, 'signal', input.input, now));
  const { execution, sight } = await findExecution(ctx, user, input.id);
  if (!parsed.success || parsed.data.executionId !== execution.id)
    throw invalid('input', 'is not a signal for this execution');
  if (parsed.data.userId !== user.id) throw new AccessError('forbidden', 'The signal was made for somebody else');
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
      via: 'signal',
    });
    return { message: 'The decision was recorded', workflow_id: execution.id };
  }
  if (sight === 'approver' && !(await isAsked(ctx, user, execution.id))) {
    throw new AccessError('forbidden', 'The execution does not wait for you');
  }
  await deliverEvent(ctx, execution.id, event as CloudEvent);
  return { message: 'The signal was delivered', workflow_id: execution.id };
}

/** Whether an approval that is open now asks this person; one that asked them earlier gives them no say any more (design §14.2). */
async function isAsked(ctx: ActorContext, user: UserActor, executionId: string): Promise<boolean> {
  const open = await ctx.db
    .select({ rule: approvals.rule, excluded: approvals.excluded })
    .from(approvals)
    .where(and(eq(approvals.executionId, executionId), eq(approvals.status, 'open')));
  return open.some(({ rule, excluded }) => isNamed(user, rule) && !excluded.includes(user.email.toLowerCase()));
}

/** Puts an event into the inbox, once for its source and id, and hands it to a step that wants it (design §5.5). */
async function deliverEvent(ctx: ActorContext, executionId: string, event: CloudEvent): Promise<void> {
  const committed = await commit(ctx, executionId, async (execution, tx) => {
    const [fresh] = await tx
      .insert(signals)
      .values({ executionId, source: event.source, eventId: event.id, type: event.type, event })
      .onConflictDoNothing()
      .returning({ eventId: signals.eventId });
    if (!fresh) throw new AccessError('conflict', 'The signal was delivered already');
    await appendLedger(tx, [
      {
        type: 'signal.received',
        message: `Received ${event.type}`,
        actor: ctx.actor,
        userId: execution.ownerId,
        executionId,
        data: { type: event.type, source: event.source, id: event.id },
      },
    ]);
    const transition = await deliver(execution.definition, execution.state, event, execution.env);
    if (transition) return { transition, actor: ctx.actor, consumed: { source: event.source, eventId: event.id } };
    // Nobody wants it yet: it waits in the inbox for a `listen` that does.
    return stay(execution, ctx.actor);
  });
  if (!committed) throw new AccessError('conflict', 'The execution has ended');
}
