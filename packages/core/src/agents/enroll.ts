import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { agents } from '@belay/db';
import { eq, sql } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { requireDuration } from '../duration.js';
import { appendLedger } from '../ledger/append.js';
import { newAgentCredential } from './credential.js';

const longest = 366 * 24 * 60 * 60_000;

export interface EnrollAgent {
  /** The unique name that operators give the agent. */
  name: string;
  /** How long its credential is valid if the agent does not replace it: ISO 8601 or the short form. */
  ttl: string;
}

/**
 * Creates the credential of an agent (`belay agent enroll`): operators only, audited, with a fixed end; shown once and
 * stored as a hash. Enrolling a name again gives that agent a new credential, and revokes the old one immediately.
 */
export async function enrollAgent(
  ctx: ActorStore,
  input: EnrollAgent,
): Promise<{ credential: string; expires_at: string; agent: { id: string; name: string } }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators enrol agents');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(input.name)) {
    throw invalid(
      'name',
      'must contain only letters, digits, dots, dashes and underscores, at most 100, and begin with a letter or digit',
    );
  }
  const ttl = requireDuration(input.ttl, 'ttl');
  if (ttl > longest) throw invalid('ttl', 'is longer than one year');
  const credential = newAgentCredential(ctx);
  const held = {
    secretHash: hashSecret(credential),
    expiresAt: sql`app_now() + ${`${ttl} milliseconds`}::interval`,
    enrolledAt: sql`app_now()`,
  };
  return ctx.db.transaction(async (tx) => {
    const [before] = await tx.select({ id: agents.id }).from(agents).where(eq(agents.name, input.name));
    const [agent] = await tx
      .insert(agents)
      .values({ id: ctx.newId(), name: input.name, ...held })
      .onConflictDoUpdate({ target: agents.name, set: held })
      .returning({ id: agents.id, name: agents.name, expiresAt: agents.expiresAt });
    if (!agent) throw new Error('An agent could not be stored');
    const { id, name, expiresAt } = agent;
    await appendLedger(tx, [
      {
        type: 'agent.enrolled',
        level: 'warning',
        message: before ? `The agent "${name}" was given a new credential` : `The agent "${name}" was enrolled`,
        actor,
        data: { agent_id: id, expires_at: expiresAt.toISOString() },
      },
    ]);
    return { credential, expires_at: expiresAt.toISOString(), agent: { id, name } };
  });
}
