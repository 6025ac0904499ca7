import { AccessError, notFound } from '@belay/contract/errors';
import type { KeptSession, LocalContext, LocalPerson } from './ports.js';

/** Returns the sessions stored here, each with its encrypted token (GET /sessions). */
export function listLocalSessions(ctx: LocalContext) {
  const sessions = activeSessions(ctx).map(({ provider, ...kept }) => [provider, toSession(kept)] as const);
  return {
    version: ctx.configuration.current()?.catalog_version ?? '1.0.0',
    timestamp: ctx.clock().toISOString(),
    sessions: Object.fromEntries(sessions),
  };
}

/** Returns one session (GET /session/{provider}). Throws `not_found` when there is none, or when it has expired. */
export function getLocalSession(ctx: LocalContext, input: { provider: string }) {
  const kept = activeSessions(ctx).find(({ provider }) => provider === input.provider);
  if (!kept) throw notFound(`A session with ${input.provider}`);
  return { session: toSession(kept) };
}

/**
 * Stores a session of a sign-in that was started here (POST /sessions). The code is valid once, for this provider and for five minutes; the
 * server verifies the session. Resolves when it is on the disk. Throws `forbidden` for the code, `invalid` or `unauthenticated` for the
 * session, and `unavailable` when nothing was stored and the same request can be sent again.
 */
export async function keepLocalSession(
  ctx: LocalContext,
  input: { code: string; provider: string; session: string },
): Promise<{ message: string; expiry: string }> {
  const taken = ctx.logins.take(input.code, input.provider);
  try {
    const { provider, version, expiry, person } = await ctx.upstream.verify(input.session);
    if (provider !== input.provider)
      throw new AccessError('invalid', `The session belongs to another provider than ${input.provider}`);
    await storeSession(ctx, { provider, version, expiry, session: input.session, person });
    return { message: `The session with "${provider}" is stored`, expiry };
  } catch (error) {
    // An outage is not the caller's fault, so the code stays valid.
    if (error instanceof AccessError && error.code === 'unavailable') taken.restore();
    throw error;
  }
}

/**
 * Completes a sign-in that came back from the server: exchanges its code, which only this process can do, and stores
 * the session. Resolves to undefined when the secret is unknown. Throws `forbidden` when the sign-in was rejected, or
 * came back from another provider, and the errors of the server.
 */
export async function completeLocalLogin(
  ctx: LocalContext,
  input: { secret: string; code: string | undefined },
): Promise<{ provider: string; email: string; expiry: string; callback: string | undefined } | undefined> {
  const begun = ctx.logins.takeReturn(input.secret);
  if (!begun) return undefined;
  if (input.code === undefined) throw new AccessError('forbidden', 'The sign-in was rejected or cancelled');
  const { token, person, session } = await ctx.upstream.exchange({
    code: input.code,
    codeVerifier: begun.codeVerifier,
  });
  if (begun.provider !== undefined && begun.provider !== person.provider) {
    throw new AccessError('forbidden', 'The sign-in came back from another provider than the one it started with');
  }
  await storeSession(ctx, { ...session, provider: person.provider, person, token });
  return { provider: person.provider, email: person.email, expiry: session.expiry, callback: begun.callback };
}

/**
 * Removes a session from memory and disk permanently (DELETE /session/{provider}). Throws `not_found` when there is
 * none.
 */
export async function removeLocalSession(ctx: LocalContext, input: { provider: string }): Promise<{ message: string }> {
  const kept = ctx.sessions.all().find(({ provider }) => provider === input.provider);
  if (!kept || !(await ctx.sessions.remove(input.provider))) throw notFound(`A session with ${input.provider}`);
  ctx.ledger.append({
    type: 'session.removed',
    message: `The session with ${input.provider} was removed from this machine`,
    provider: input.provider,
    user: kept.person.email,
  });
  return {
    message: `The session with "${input.provider}" is removed from this machine; tokens at the provider are not revoked by this`,
  };
}

async function storeSession(ctx: LocalContext, session: Omit<KeptSession, 'storedAt'>): Promise<void> {
  const before = localPerson(ctx);
  await ctx.sessions.put({ ...session, storedAt: ctx.clock().toISOString() });
  const { provider, person } = session;
  ctx.ledger.append({
    type: 'session.kept',
    message: `${person.email} has a session with ${provider}`,
    provider,
    user: person.email,
  });
  if (before && before.email !== person.email) {
    ctx.ledger.append({
      level: 'warning',
      type: 'person.changed',
      message: `This machine now acts for ${person.email}, no longer for ${before.email}`,
      user: person.email,
    });
  }
}

function toSession({ version, expiry, session }: Pick<KeptSession, 'version' | 'expiry' | 'session'>) {
  return { version, expiry, session };
}

/** Returns the time at the server, as far as this machine knows it, so that a wrong clock does not end a session early. */
function serverNow(ctx: LocalContext): number {
  return ctx.clock().getTime() - ctx.skew();
}

/** Returns the sessions that have not expired, by provider. */
function activeSessions(ctx: LocalContext): KeptSession[] {
  const now = serverNow(ctx);
  return ctx.sessions
    .all()
    .filter(({ expiry }) => Date.parse(expiry) > now)
    .sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

/** Returns the person of the active session that was stored last; undefined when no session is active. */
export function localPerson(ctx: LocalContext): LocalPerson | undefined {
  return activeSessions(ctx).reduce<KeptSession | undefined>(
    (latest, each) => (latest === undefined || each.storedAt > latest.storedAt ? each : latest),
    undefined,
  )?.person;
}
