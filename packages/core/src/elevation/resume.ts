import { z } from 'zod';
import { requireUser } from '../actor.js';
import { decideApproval } from '../approvals/decide.js';
import type { ActorContext } from '../context.js';
import { AccessError, invalid } from '../errors.js';
import { findExecution } from '../executions/find.js';
import { readNow } from '../now.js';
import { open, seal } from '../tokens/seal.js';

const stateSchema = z.object({
  executionId: z.string(),
  /** The one person it was made for: having the link is not being them. */
  userId: z.string(),
  verdict: z.enum(['approve', 'deny']),
  requestDigest: z.string(),
});

export interface Resumed {
  workflow_id: string;
  status: 'completed';
  output: { approved: boolean; session_created: boolean };
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
  return seal(ctx.keyring, 'state', { ...input, userId: user.id }, { now, lifetime: ctx.timing.signal });
}

/**
 * Resumes a paused execution with a sealed state (interface, /elevate/resume). Single use follows from the step being
 * resolved once: a second use finds a decided approval and is a `conflict`. Throws `invalid` for a state that is expired,
 * tampered with or of another purpose, `forbidden` for another person's.
 */
export async function resumeExecution(ctx: ActorContext, input: { state: string }): Promise<Resumed> {
  const user = requireUser(ctx);
  const now = await readNow(ctx.db);
  const state = stateSchema.safeParse(await open(ctx.keyring, 'state', input.state, now));
  if (!state.success) throw invalid('state', 'is not a workflow state');
  if (state.data.userId !== user.id) throw new AccessError('forbidden', 'The link was made for somebody else');
  const { execution } = await findExecution(ctx, user, state.data.executionId);
  const decided = await decideApproval(ctx, {
    id: execution.id,
    verdict: state.data.verdict,
    request_digest: state.data.requestDigest,
    via: 'resume',
  });
  return {
    workflow_id: execution.id,
    status: 'completed',
    output: { approved: decided.status === 'approved', session_created: false },
    location: `/execution/${execution.id}`,
  };
}
