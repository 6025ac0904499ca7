import { advanceStep, type CallFunction, lockExecution, type Performed, parkCall, parked } from '@belay/engine';
import { endGrants } from '../access/end.js';
import { reconcileEntitlement } from '../access/reconcile.js';
import type { Context, Hint } from '../context.js';
import type { ElevationCall } from '../elevation/input.js';

/** `access.revoke`: ends the execution's grants, and resolves when they are gone at the provider (design §6.2, §16). */
export const revoke = {
  async perform(ctx: Context, call: ElevationCall): Promise<Performed> {
    const hints = await ctx.db.transaction(async (tx): Promise<Hint[]> => {
      const locked = await lockExecution(tx, call.executionId, call.key);
      if (!locked?.step || locked.step.attempt !== call.attempt) return [];
      const ended = await endGrants(tx, {
        executionId: call.executionId,
        reason: 'revoked',
        actor: { kind: 'system', name: 'access.revoke' },
      });
      const dueAt = new Date(locked.now.getTime() + ctx.timing.lease);
      await parkCall(tx, call, { waitingFor: 'the revocation at the provider', dueAt, waiting: false });
      return ended;
    });
    ctx.crashpoint('revocation asked');
    await Promise.all(
      hints.map((hint) => (hint.queue === 'entitlements' ? reconcileEntitlement(ctx, hint) : undefined)),
    );
    await advanceStep(ctx, call.executionId, call.key);
    return parked;
  },
} satisfies CallFunction;
