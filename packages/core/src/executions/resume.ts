import type { Resumption } from '@belay/contract/elevation';
import { AccessError, invalid } from '@belay/contract/errors';
import { type Verdict, verdict } from '@belay/contract/fields';
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
  /** The only person who can use the link. */
  userId: z.string(),
  verdict,
  requestDigest: z.string(),
  madeAt: z.iso.datetime(),
});

export interface Resumed extends Resumption {
  /** Where a browser goes next. */
  location: string;
}

/** Creates the sealed state of an approver's link, for the caller only, as an input of `resumeExecution`. */
export async function createState(
  ctx: ActorContext,
  input: { executionId: string; verdict: Verdict; requestDigest: string },
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
 * Creates the sealed task token that resumes a listening task, for the caller and this execution only, as the other
 * input of `resumeExecution`. Throws `not_found` when the caller may not send events to the execution, and `invalid`
 * for a decision: decisions need a state, which is bound to what the approver saw.
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
 * Resumes a paused execution with a sealed state or a task token (/elevate/resume). Each can be used once, because a step is resolved once:
 * a second use finds a decided approval, a later approval, or an event that was already received, and throws `conflict`. Throws `invalid`
 * for tokens that are expired, modified or for another purpose, and `forbidden` for those of another person.
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

/** Opens either token: each purpose has its own key, and a text that is neither gives the same error. */
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

/** Returns whether the token approved the request. An event approves nothing. */
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
