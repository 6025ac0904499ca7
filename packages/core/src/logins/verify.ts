import type { Context, UserActor } from '../context.js';
import { keepGroupsFresh } from '../sessions/keep-fresh.js';
import { luciaOf, readLogins } from './lucia.js';

export interface VerifiedLogin {
  actor: UserActor;
  expiresAt: Date;
  /** True when the end of the login was extended because it is in use. */
  refreshed: boolean;
  kind: 'browser' | 'device' | 'token';
}

/**
 * Returns the person that a login's secret proves. Returns null both for an unknown secret and for a login that has ended. The provider's
 * data of the person is refreshed when it is old; a request waits for that no longer than `timing.groups.wait`.
 */
export function verifyLogin(ctx: Context, { token }: { token: string }): Promise<VerifiedLogin | null> {
  return verifyWith(ctx, token, read(ctx, [token]));
}

/**
 * Verifies several logins with one query, each as `verifyLogin` does. Returns a promise per secret, in their order: an
 * error for one login rejects only its promise.
 */
export function verifyLogins(
  ctx: Context,
  { tokens }: { tokens: readonly string[] },
): readonly Promise<VerifiedLogin | null>[] {
  const sessions = read(ctx, tokens);
  return tokens.map((token) => verifyWith(ctx, token, sessions));
}

type Sessions = ReturnType<typeof luciaOf>;

async function read(ctx: Context, tokens: readonly string[]): Promise<Sessions> {
  return luciaOf(ctx, { rows: await readLogins(ctx, plausible(tokens)) });
}

async function verifyWith(ctx: Context, token: string, sessions: Promise<Sessions>): Promise<VerifiedLogin | null> {
  const found = await toLogin(await sessions, token);
  if (found === null) return null;
  const state = await keepGroupsFresh(ctx, found);
  if (state === 'fresh') return found.login;
  // The data was refreshed, or the login has ended because of it.
  const again = await toLogin(await read(ctx, [token]), token);
  if (again === null || state === 'read' || again.age <= ctx.timing.groups.fresh) return again?.login ?? null;
  return { ...again.login, actor: { ...again.login.actor, stale: true } };
}

/** Returns the secrets that have a valid form; the database is not queried for the others. */
function plausible(tokens: readonly string[]): string[] {
  return tokens.filter(({ length }) => length >= 20 && length <= 200);
}

async function toLogin(sessions: Sessions, token: string) {
  const { session, user } = await sessions.validateSession(token);
  if (!session || !user) return null;
  const { id, email, name, groups, provider, subject } = user;
  const { loginId, kind, toldAt, now, until, endsAt } = session;
  const moved = new Date(Math.min(session.expiresAt.getTime(), endsAt.getTime()));
  const refreshed = session.fresh && kind !== 'token';
  const actor: UserActor = { kind: 'user', id, email, name, groups, provider, subject, loginId, by: kind };
  const login: VerifiedLogin = { actor, expiresAt: refreshed ? moved : until, refreshed, kind };
  return { login, age: toldAt === null ? 0 : now.getTime() - toldAt.getTime() };
}
