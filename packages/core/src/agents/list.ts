import type { AgentList } from '@belay/contract/admin';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { agents } from '@belay/db';
import { asc, gt } from 'drizzle-orm';
import { versionText } from '../configuration/catalog.js';
import type { ActorStore } from '../context.js';
import { requireOverseer } from '../people/oversight.js';

/**
 * Returns the agents that operators enrolled, by name, and when each was last seen (GET /admin/agents); never a
 * credential. Throws `forbidden`, and `invalid` for a text that is not a cursor.
 */
export async function listAgents(ctx: ActorStore, input: PageOf): Promise<AgentList> {
  requireOverseer(ctx);
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  if (input.cursor !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(input.cursor)) {
    throw invalid('cursor', 'is not a cursor of this list');
  }
  const rows = await ctx.db
    .select()
    .from(agents)
    .where(input.cursor === undefined ? undefined : gt(agents.name, input.cursor))
    .orderBy(asc(agents.name))
    .limit(limit + 1);
  return {
    agents: rows.slice(0, limit).map((agent) => ({
      id: agent.id,
      name: agent.name,
      environment: agent.environment,
      description: agent.description,
      enrolled_at: agent.enrolledAt.toISOString(),
      expires_at: agent.expiresAt.toISOString(),
      registered_at: agent.registeredAt?.toISOString() ?? null,
      seen_at: agent.seenAt?.toISOString() ?? null,
      catalog_version: agent.catalogVersion === null ? null : versionText(agent.catalogVersion),
    })),
    next: rows.length > limit ? (rows[limit - 1]?.name ?? null) : null,
  };
}
