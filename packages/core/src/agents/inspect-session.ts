import { AccessError } from '@belay/contract/errors';
import type { VerifiedSession } from '@belay/contract/sessions';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { readPerson } from '../people/people.js';
import { findSessions } from '../sessions/find.js';
import { openSessionToken } from '../sessions/verify.js';

/**
 * Returns what a session token proves now, for the agent or client that keeps it. Throws `invalid` for a text that is
 * not a session token and `unauthenticated` for one that has ended.
 */
export async function inspectSession(ctx: Context, input: { session: string }): Promise<VerifiedSession> {
  const { user, login, provider, version } = await openSessionToken(ctx, input.session, await readNow(ctx.db));
  const [active] = await findSessions(ctx, { id: user, loginId: login }, { loginId: login, provider });
  const subject = active?.subject;
  const person = subject === undefined ? undefined : await readPerson(ctx, ctx.db, { userId: user, provider, subject });
  if (active?.version !== version || !person) {
    throw new AccessError('unauthenticated', `The session with "${provider}" has ended; sign in with it again`);
  }
  const { email, name, groups } = person;
  return { provider, version, expiry: active.expiresAt.toISOString(), user: { email, name, groups, provider } };
}
