import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { agents } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';
import { requireAgent } from '../actor.js';
import type { ActorContext } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { isAgentCredential } from './credential.js';

/** How long an agent may go on without being enrolled again. */
const lifetime = 366 * 24 * 60 * 60_000;

/**
 * Puts a credential of the agent's own making in the place of the one that it calls with, which is dead from then on: so
 * what an operator handed over works once, and may be short-lived. The agent keeps the new one before it asks, and so never
 * stands without either. It is good for a year from the enrolment; enrolling the name again voids it at once. `presented` is
 * what it called with. Throws `invalid`, and `unauthenticated` when that was replaced meanwhile.
 */
export async function adoptCredential(
  ctx: ActorContext,
  input: { presented: string; credential: string },
): Promise<{ success: boolean; expires_at: string }> {
  const agent = requireAgent(ctx);
  if (!isAgentCredential(input.credential)) throw invalid('credential', 'is not the credential of an agent');
  return ctx.db.transaction(async (tx) => {
    const [held] = await tx
      .update(agents)
      .set({
        secretHash: hashSecret(input.credential),
        expiresAt: sql`${agents.enrolledAt} + ${`${lifetime} milliseconds`}::interval`,
      })
      // Only in the place of the one it called with: that may have been replaced since, by an operator even.
      .where(and(eq(agents.id, agent.id), eq(agents.secretHash, hashSecret(input.presented))))
      .returning({ expiresAt: agents.expiresAt });
    if (!held) throw new AccessError('unauthenticated', 'The credential was replaced by another call');
    await appendLedger(tx, [
      {
        type: 'agent.credential_adopted',
        message: `The agent "${agent.name}" replaced its credential with one that it generated`,
        actor: agent,
        data: { expires_at: held.expiresAt.toISOString() },
      },
    ]);
    return { success: true, expires_at: held.expiresAt.toISOString() };
  });
}
