import type { Database } from '@belay/db';
import type { EngineContext } from '../ports.js';

/** How long to wait before the database is asked again, in milliseconds. */
const pause = 1_000;

/** Ends the leases of those claims that it finds and returns their ids; all rows of a claim are found together. */
export type Free<Ctx extends EngineContext> = (ctx: Ctx, claimIds: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Returns a function that gives back a claim whose answer was lost, as soon as the database answers: it may have been committed,
 * and only the process that chose its id knows that no call was begun for it. The same as if its lease had ended. That function
 * returns at once; it looks again and again until the claim is found or its lease is over, because a statement may reach the
 * database after its connection was given up.
 */
export function givingBack<Ctx extends EngineContext>(free: Free<Ctx>): (ctx: Ctx, claimId: string) => void {
  /** Claims of this process that it never heard of, by their ids, and until when they may hold a lease. */
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
