import type { Resumption } from '@belay/contract/elevation';
import { AccessError, invalid } from '@belay/contract/errors';
import type { CloudEvent, Json } from '@belay/workflow';
import { z } from 'zod';
import { requireUser } from '../actor.js';
import { decideApproval } from '../approvals/decide.js';
import type { ActorContext, UserActor } from '../context.js';
import { readNow } from '../now.js';
import { open, seal } from '../tokens/seal.js';
import { deliverEvent, eventOf, findToSignal, sealedEventSchema } from './deliver.js';
import { APPROVAL_DECIDED } from './signal.js';

const stateSchema = z.object({
  executionId: z.string(),
  /** The one person it was made for: having the link is not being them. */
  userId: z.string(),
  verdict: z.enum(['approve', 'deny']),
  requestDigest: z.string(),
  madeAt: z.iso.datetime(),
});

export interface Resumed extends Resumption {
  /** Where a browser goes next. */
  location: string;
}

/** Makes the sealed state of an approver's link, for the caller only; what `resumeExecution` takes. */
export async function createState(
  ctx: ActorContext,
  input: { executionId: string; verdict: 'approve' | 'deny'; requestDigest: string },
): Promise<string> {
  const user = requireUser(ctx);
  const now = await readNow(ctx.db);
  return seal(
    ctx.keyring,
    'state',
    { ...input, userId: user.id, madeAt: now.toISOString() },
    { now, lifetime: ctx.timing.signal },
  );
}

/**
 * Makes the sealed task token that resumes a task which listens for an event, for the caller and this execution only; what
 * `resumeExecution` takes beside a state. Throws `not_found` when the caller may not see the execution, and `invalid` for a
 * decision: that is what a state is for, which is bound to what the approver saw.
 */
export async function createTaskToken(
  ctx: ActorContext,
  input: { executionId: string; type: string; data?: Json | undefined },
): Promise<string> {
  const user = requireUser(ctx);
  if (input.type === APPROVAL_DECIDED) throw invalid('event.type', 'is a decision: seal a verdict instead');
  const { execution } = await findToSignal(ctx, user, input.executionId);
  const now = await readNow(ctx.db);
  const payload = { executionId: execution.id, userId: user.id, event: eventOf(ctx, user, input, now) };
  return seal(ctx.keyring, 'task', payload, { now, lifetime: ctx.timing.signal });
}

/**
 * Resumes a paused execution with a sealed state or a task token (/elevate/resume). Single use follows from the
 * step being resolved once: a second use finds a decided approval, or one that was asked later, or an event that came
 * already, and is a `conflict`.
 * Throws `invalid` for what is expired, tampered with or of another purpose, `forbidden` for another person's.
 */
export async function resumeExecution(ctx: ActorContext, input: { state: string }): Promise<Resumed> {
  const user = requireUser(ctx);
  const now = await readNow(ctx.db);
  const state = await openEither(ctx, input.state, now);
  if (state.userId !== user.id) throw new AccessError('forbidden', 'The link was created for another person');
  const found = await findToSignal(ctx, user, state.executionId);
  return {
    workflow_id: found.execution.id,
    status: 'completed',
    output: { approved: await act(ctx, user, found, state), session_created: false },
    location: `/execution/${found.execution.id}`,
  };
}

type Opened = z.infer<typeof stateSchema> | z.infer<typeof sealedEventSchema>;

/** A key of its own for each purpose decides which of the two a token is; whatever is neither is told alike. */
async function openEither(ctx: ActorContext, token: string, now: Date): Promise<Opened> {
  const opened = await open(ctx.keyring, 'state', token, now).catch(async (error: unknown) => {
    if (error instanceof AccessError && error.code === 'invalid') return null;
    throw error;
  });
  const parsed = opened
    ? stateSchema.safeParse(opened)
    : sealedEventSchema.safeParse(await open(ctx.keyring, 'task', token, now));
  if (!parsed.success) throw invalid('state', 'is not a workflow state');
  return parsed.data;
}

/** Whether the request was approved by it: an event approves nothing. */
async function act(
  ctx: ActorContext,
  user: UserActor,
  found: Awaited<ReturnType<typeof findToSignal>>,
  state: Opened,
): Promise<boolean> {
  if ('event' in state) {
    await deliverEvent(ctx, user, found, state.event as CloudEvent, { early: 'refused' });
    return false;
  }
  const { verdict, requestDigest: request_digest, madeAt } = state;
  const decision = { id: found.execution.id, verdict, request_digest, seenAt: new Date(madeAt) };
  const decided = await decideApproval(ctx, { ...decision, via: 'resume' });
  return decided.status === 'approved';
}
