import { resolve } from '@belay/workflow';
import type { Context } from '../../context.js';
import { commit } from './commit.js';

/** Fires a timer that is due. One that is not due yet is hinted again for its time; none at all is success. */
export async function fireTimer(ctx: Context, input: { executionId: string; key: string }): Promise<void> {
  await commit(
    ctx,
    input.executionId,
    async (execution) => {
      const { step } = execution;
      if (step?.kind !== 'timer' || !step.dueAt) return null;
      if (step.dueAt.getTime() > execution.now.getTime()) {
        ctx.waker.wake([{ queue: 'executions', ...input, dueAt: step.dueAt }]);
        return null;
      }
      const transition = await resolve(
        execution.definition,
        execution.state,
        step.key,
        { ok: true, value: null },
        execution.env,
      );
      return { transition, resolved: { key: step.key, ok: true }, actor: { kind: 'system', name: 'clock' } };
    },
    { key: input.key },
  );
}
