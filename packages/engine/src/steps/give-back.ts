import type { Database } from '@belay/db';
import type { EngineStore } from '../ports.js';

/** How long to wait before the next attempt at the database, in milliseconds. */
const pause = 1_000;

/** Ends the leases of those claims that it finds and returns their ids; all rows of a claim are found together. */
export type Free<Ctx extends EngineStore> = (ctx: Ctx, claimIds: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Returns a function that releases a claim whose database response was lost, as soon as the database is available: the claim may
 * have been committed, and only the process that chose its id knows that its call was not started. The effect is the same as the
 * end of its lease. The returned function does not wait; it searches again until the claim is found or its lease has ended, because
 * a statement may reach the database after its connection was given up.
 */
export function givingBack<Ctx extends EngineStore>(free: Free<Ctx>): (ctx: Ctx, claimId: string) => void {
  /** Claims of this process whose response was lost, by id, and until when they may hold a lease. */
  const lost = new WeakMap<Database, Map<string, number>>();

  async function freeAll(ctx: Ctx, claims: Map<string, number>): Promise<void> {
    while (claims.size > 0) {
      try {
        for (const claimId of await free(ctx, [...claims.keys()])) claims.delete(claimId);
      } catch (error) {
        if (!ctx.host.isOutage(error))
          ctx.log.warn({ error }, 'claims could not be released; they can be claimed again when their leases end');
      }
      const now = ctx.clock().getTime();
      for (const [claimId, until] of claims) if (until <= now) claims.delete(claimId);
      if (claims.size > 0) await ctx.delay(pause);
    }
    lost.delete(ctx.db);
  }

  return (ctx, claimId) => {
    const until = ctx.clock().getTime() + ctx.timing.lease;
    const claims = lost.get(ctx.db);
    if (claims) {
      claims.set(claimId, until);
      return;
    }
    const first = new Map([[claimId, until]]);
    lost.set(ctx.db, first);
    void freeAll(ctx, first);
  };
}
