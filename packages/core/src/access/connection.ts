import type { Connections } from '@belay/contract/access';
import { AccessError } from '@belay/contract/errors';
import { entitlements, grants } from '@belay/db';
import type { Access } from '@belay/providers';
import { and, asc, eq, isNotNull } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { findExecution } from '../find-execution.js';
import { isLive } from './wanted.js';

/**
 * Returns the connection details of an execution's active access, for providers whose configuration shares them. Throws
 * `not_found` for an execution that the caller may not see, and `forbidden` for another person's.
 */
export async function readConnections(
  ctx: ActorStore,
  { execution_id: id }: { execution_id: string },
): Promise<Connections> {
  const user = requireUser(ctx);
  const { sight } = await findExecution(ctx, user, id);
  if (sight !== 'owner') throw new AccessError('forbidden', 'The access belongs to another person');
  const rows = await ctx.db
    .select({ provider: entitlements.provider, identity: grants.identity, access: grants.access })
    .from(grants)
    .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
    .where(and(eq(grants.executionId, id), isLive, isNotNull(grants.activatedAt)))
    .orderBy(asc(grants.id));
  const { providers } = ctx.catalog.current();
  return {
    connections: rows.flatMap(({ provider: name, identity, access }) => {
      const provider = providers.get(name);
      if (provider?.definition.share_connection !== true) return [];
      const shared = provider.connector.connection?.(provider.config, { identity, access: access as Access });
      return shared === undefined ? [] : [{ provider: name, identity, ...shared }];
    }),
  };
}
