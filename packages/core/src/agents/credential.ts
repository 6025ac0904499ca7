import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { agents } from '@belay/db';
import { and, eq, gt, isNull, lt, or, sql } from 'drizzle-orm';
import { requireAgent } from '../actor.js';
import type { ActorStore, AgentActor, Store } from '../context.js';
import { requireDuration } from '../duration.js';
import { appendLedger } from '../ledger/append.js';
import { timing } from '../timing.js';

export interface EnrollAgent {
  /** The unique name that operators give the agent. */
  name: string;
  /** How long its credential is valid if the agent does not replace it: ISO 8601 or the short form. */
  ttl: string;
}

/**
 * Creates the credential of an agent (`belay agent enroll`): operators only, audited. The credential is shown once, stored as a
 * hash, and expires. Enrolling a name again gives that agent a new credential, and revokes the old one immediately.
 * Throws `forbidden` and `invalid`.
 */
export async function enrollAgent(
  ctx: ActorStore,
  input: EnrollAgent,
): Promise<{ credential: string; expires_at: string; agent: { id: string; name: string } }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can enrol agents');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(input.name)) {
    throw invalid(
      'name',
      'must contain only letters, digits, dots, dashes and underscores, at most 100, and begin with a letter or digit',
    );
  }
  const ttl = requireDuration(input.ttl, 'ttl');
  if (ttl > timing.year) throw invalid('ttl', 'is longer than one year');
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

/**
 * Replaces the credential of the calling agent with one that the agent generated and stored before the call. The old one stops
 * working immediately, so the credential that an operator hands over can be short-lived. The new one is valid for a year from the
 * enrolment. `presented` is the credential of the call. Throws `invalid`, and `unauthenticated` when `presented` was replaced
 * meanwhile.
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
        expiresAt: sql`${agents.enrolledAt} + ${`${timing.year} milliseconds`}::interval`,
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

/**
 * Returns the agent that a credential belongs to, and records when it was last seen. Returns null when the credential is unknown,
 * replaced or expired, so a caller cannot tell which.
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

/** A different form than the secret of a login, so that neither is ever looked up as the other. */
const prefix = 'belay-agent.';

/** Returns a secret of 256 bits that proves an agent; only its hash is stored. */
function newAgentCredential(ctx: Store): string {
  return `${prefix}${Buffer.from(ctx.randomBytes(32)).toString('base64url')}`;
}

/** Returns whether a text has the form of an agent's credential. */
export function isAgentCredential(token: string): boolean {
  return token.startsWith(prefix) && /^[A-Za-z0-9_-]{43}$/.test(token.slice(prefix.length));
}
