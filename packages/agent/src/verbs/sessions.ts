import { AccessError, notFound } from '@belay/contract/errors';
import type { KeptSession, LocalContext, LocalPerson } from './ports.js';

/** Returns the sessions kept here, each with its encrypted token (GET /sessions). */
export function listLocalSessions(ctx: LocalContext) {
  const sessions = activeSessions(ctx).map(({ provider, ...kept }) => [provider, toSession(kept)] as const);
  return {
    version: ctx.configuration.current()?.catalog_version ?? '1.0.0',
    timestamp: ctx.clock().toISOString(),
    sessions: Object.fromEntries(sessions),
  };
}

/** Returns one session (GET /session/{provider}). Throws `not_found` when there is none that is not over. */
export function getLocalSession(ctx: LocalContext, input: { provider: string }) {
  const kept = activeSessions(ctx).find(({ provider }) => provider === input.provider);
  if (!kept) throw notFound(`A session with ${input.provider}`);
  return { session: toSession(kept) };
}

/**
 * Keeps a session that belongs to a sign-in begun here (POST /sessions): the code is good once, for this provider, for
 * five minutes, and the server says what the session is worth. Answers when it has reached the disk. Throws `forbidden`
 * for the code, `invalid` or `unauthenticated` for the session, and `unavailable` when nothing was kept and the same
 * request may be sent again.
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
    // What was not the caller's fault does not cost them their code.
    if (error instanceof AccessError && error.code === 'unavailable') taken.restore();
    throw error;
  }
}

/**
 * Ends a sign-in that came back from the server: exchanges its code, which only this process can, and keeps the
 * session.
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

/** Removes a session from memory and disk for good (DELETE /session/{provider}). */
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

/** The time at the server, as far as this machine knows it: a clock that is wrong by an hour ends no session early. */
function serverNow(ctx: LocalContext): number {
  return ctx.clock().getTime() - ctx.skew();
}

/** Returns the sessions that are not over, by provider. */
function activeSessions(ctx: LocalContext): KeptSession[] {
  const now = serverNow(ctx);
  return ctx.sessions
    .all()
    .filter(({ expiry }) => Date.parse(expiry) > now)
    .sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

/** Returns who is signed in here: the person of the session that was stored last. Undefined without a session. */
export function localPerson(ctx: LocalContext): LocalPerson | undefined {
  return activeSessions(ctx).reduce<KeptSession | undefined>(
    (latest, each) => (latest === undefined || each.storedAt > latest.storedAt ? each : latest),
    undefined,
  )?.person;
}
