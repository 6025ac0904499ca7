import { hashSecret } from '@belay/contract/canonical';
import { agents } from '@belay/db';
import { and, eq, gt, isNull, lt, or, sql } from 'drizzle-orm';
import type { AgentActor, Store } from '../context.js';
import { isAgentCredential } from './credential.js';

/**
 * Returns which agent a credential proves, or null when it is unknown, replaced or expired, without a difference.
 * Records when it was last used.
 */
export async function verifyAgent(ctx: Store, input: { token: string }): Promise<AgentActor | null> {
  if (!isAgentCredential(input.token)) return null;
  const [agent] = await ctx.db
    .select({ id: agents.id, name: agents.name })
    .from(agents)
    .where(and(eq(agents.secretHash, hashSecret(input.token)), gt(agents.expiresAt, sql`app_now()`)));
  if (!agent) return null;
  // Once per minute is enough to show which agents are active, and saves a write per request.
  await ctx.db
    .update(agents)
    .set({ seenAt: sql`app_now()` })
    .where(
      and(eq(agents.id, agent.id), or(isNull(agents.seenAt), lt(agents.seenAt, sql`app_now() - interval '1 minute'`))),
    );
  return { kind: 'agent', ...agent };
}
