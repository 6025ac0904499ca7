import { notFound } from '@belay/contract/errors';
import { agents } from '@belay/db';
import { eq } from 'drizzle-orm';
import { requireReason } from '../access/revoke.js';
import { nameOf } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { requireAdministrator } from '../people/oversight.js';

/**
 * Removes an agent (POST /admin/agents/{id}/remove): its credential is rejected from the next request on, until an
 * operator enrols it again. Administrators and operators only, with a reason, audited. Throws `forbidden`, `invalid`
 * or `not_found`.
 */
export async function removeAgent(
  ctx: ActorStore,
  input: { id: string; reason: string },
): Promise<{ status: 'ok'; message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  if (!isId(input.id)) throw notFound('The agent');
  const name = await ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(agents).where(eq(agents.id, input.id)).returning();
    if (!gone) throw notFound('The agent');
    await appendLedger(tx, [
      {
        type: 'agent.removed',
        level: 'warning',
        message: `${nameOf(ctx.actor)} removed the agent "${gone.name}": ${reason}`,
        actor: ctx.actor,
        data: { agent_id: gone.id, reason },
      },
    ]);
    return gone.name;
  });
  return { status: 'ok', message: `The agent "${name}" is removed` };
}
