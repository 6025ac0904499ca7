import { resolve } from '@belay/workflow';
import type { Context } from '../../context.js';
import { progressOf } from '../../functions/progress/table.js';
import { commit } from './commit.js';
import { callName } from './request.js';

/**
 * Looks whether a parked call can be resolved by now, and resolves it. Nothing to resolve is success.
 * The call's function decides from rows alone, under the execution's lock.
 */
export async function advanceStep(ctx: Context, executionId: string, key: string): Promise<void> {
  await commit(
    ctx,
    executionId,
    async (execution, tx) => {
      if (!execution.step) return null;
      const progress = await progressOf.get(callName(execution.step.request))?.(ctx, tx, execution, key);
      if (!progress) return null;
      const { outcome, hints = [] } = progress;
      const transition = await resolve(execution.definition, execution.state, key, outcome, execution.env);
      return { transition, resolved: { key, ok: outcome.ok }, actor: { kind: 'system', name: 'runtime' }, hints };
    },
    { key },
  );
}
