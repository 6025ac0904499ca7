import type { ActorContext } from '../context.js';
import { AccessError } from '../errors.js';
import { requireOwned } from './cancel.js';
import { commit } from './runtime/commit.js';

/**
 * Ends the caller's execution by force: no further task runs, no cleanup. Its grants still end at once (design §14.1):
 * terminating is never a way to keep access. Throws as cancelExecution does.
 */
export async function terminateExecution(
  ctx: ActorContext,
  input: { id: string },
): Promise<{ status: 'ok'; message: string }> {
  await requireOwned(ctx, input.id);
  const done = await commit(ctx, input.id, async (execution) => ({
    transition: { status: 'cancelled', state: execution.state, open: [], close: [], events: [], emitted: [] },
    status: 'terminated',
    actor: ctx.actor,
    entries: [
      {
        type: 'execution.terminated',
        level: 'warning',
        message: `${ctx.actor.kind === 'user' ? ctx.actor.email : 'An operator'} terminated the execution`,
        actor: ctx.actor,
        userId: execution.ownerId,
        executionId: execution.id,
      },
    ],
  }));
  if (!done) throw new AccessError('conflict', 'The execution has ended already');
  return { status: 'ok', message: 'The execution is terminated and its access ends' };
}
