import type { AccessList } from '@belay/contract/access';
import { entitlements, executions, grants } from '@belay/db';
import type { Access } from '@belay/providers';
import type { Json } from '@belay/workflow';
import { and, asc, eq, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import { aftermathOf } from '../catalog/authorizer.js';
import type { ActorStore } from '../context.js';
import type { ElevationInput } from '../plans/input.js';
import { expiryOf, isLive, overAt } from './wanted.js';

/**
 * Returns the access that the caller's requests hold or are about to hold, in the order of its end, 500 grants at most.
 */
export async function listAccess(ctx: ActorStore): Promise<AccessList> {
  const user = requireUser(ctx);
  const rows = await ctx.db
    .select({ grant: grants, entitlement: entitlements, input: executions.input })
    .from(grants)
    .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
    .innerJoin(executions, eq(executions.id, grants.executionId))
    .where(and(eq(grants.userId, user.id), isLive))
    .orderBy(asc(sql`${overAt}`))
    .limit(500);
  return {
    access: rows.map(({ grant, entitlement, input }) => ({
      id: grant.id,
      execution_id: grant.executionId,
      role: (input as ElevationInput).role,
      provider: entitlement.provider,
      identity: grant.identity,
      access: grant.access as Json,
      state: grant.activatedAt ? 'active' : 'granting',
      granted_at: grant.activatedAt?.toISOString() ?? null,
      expires_at: expiryOf(grant),
      ...aftermathOf(ctx, entitlement.provider, grant.access as Access),
      pending: entitlement.pending,
      break_glass: (input as ElevationInput).break_glass !== undefined,
    })),
  };
}
