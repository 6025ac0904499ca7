import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { agents } from '@belay/db';
import { and, eq, sql } from 'drizzle-orm';
import { requireAgent } from '../actor.js';
import type { ActorStore } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { isAgentCredential } from './credential.js';

/** How long an agent may run without being enrolled again, in milliseconds. */
const lifetime = 366 * 24 * 60 * 60_000;

/**
 * Replaces the credential of the calling agent with one that the agent generated; the old one stops working
 * immediately. So what an operator handed over works once, and may be short-lived. The agent stores the new one before
 * the call, so it always has a working one. It is valid for a year from the enrolment; enrolling the name again
 * revokes it immediately. `presented` is the credential of the call. Throws `invalid`, and `unauthenticated` when that
 * was replaced meanwhile.
 */
export async function adoptCredential(
  ctx: ActorStore,
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
      // Replaces only the presented credential: an operator may have replaced it since.
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
