import { retryDeadlock } from '../deadlock.js';
import type { EngineStore, Job } from '../ports.js';
import { callName } from '../request.js';
import { lockExecution } from './lock.js';
import { storeOutcome } from './outcome.js';
import { turnJob } from './turn-row.js';

/**
 * Checks whether a parked call can be resolved, and stores its outcome when it can; the execution's turn follows. The call's
 * function decides from rows alone, under the execution's lock. Returns whether the step has its outcome.
 */
export async function advanceStep(ctx: EngineStore, executionId: string, key: string): Promise<boolean> {
  const settled = await retryDeadlock(() =>
    ctx.db.transaction(async (tx): Promise<Job[] | null> => {
      const execution = await lockExecution(tx, executionId, key);
      if (!execution?.step) return null;
      if (execution.step.outcomeAt) return [];
      const progress = await ctx.host.functions
        .get(callName(execution.step.request))
        ?.progress?.(ctx, tx, execution, key);
      if (!progress) return null;
      const { outcome, jobs = [] } = progress;
      await storeOutcome(tx, { executionId, key, outcome });
      return jobs;
    }),
  );
  ctx.crashpoint('outcome stored');
  if (!settled) return false;
  ctx.waker.wake([...settled, turnJob(executionId)]);
  return true;
}
