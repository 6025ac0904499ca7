import type { Context, UserActor } from '../context.js';
import { keepGroupsFresh } from '../sessions/keep-fresh.js';
import { luciaOf } from './lucia.js';

export interface VerifiedLogin {
  actor: UserActor;
  expiresAt: Date;
  /** True when its end was moved on because it is in use. */
  refreshed: boolean;
  kind: 'browser' | 'device' | 'token';
}

/**
 * Returns who a login's secret proves, or null when it is unknown or over; the two look alike. What the provider says of
 * the person is read again when it is getting old; a request waits for that no longer than `timing.groups.wait`.
 */
export async function verifyLogin(ctx: Context, input: { token: string }): Promise<VerifiedLogin | null> {
  const found = await readLogin(ctx, input.token);
  if (found === null) return null;
  const state = await keepGroupsFresh(ctx, found);
  if (state === 'fresh') return found.login;
  // It has been read again, or the login has ended because of it.
  const again = await readLogin(ctx, input.token);
  if (again === null || state === 'read' || again.age <= ctx.timing.groups.fresh) return again?.login ?? null;
  return { ...again.login, actor: { ...again.login.actor, stale: true } };
}

async function readLogin(ctx: Context, token: string) {
  if (token.length < 20 || token.length > 200) return null;
  const { session, user } = await luciaOf(ctx).validateSession(token);
  if (!session || !user) return null;
  const { id, email, name, groups, provider, subject } = user;
  const { loginId, kind, toldAt, now, until, endsAt } = session;
  const moved = new Date(Math.min(session.expiresAt.getTime(), endsAt.getTime()));
  const refreshed = session.fresh && kind !== 'token';
  const actor: UserActor = { kind: 'user', id, email, name, groups, provider, subject, loginId };
  const login: VerifiedLogin = { actor, expiresAt: refreshed ? moved : until, refreshed, kind };
  return { login, age: toldAt === null ? 0 : now.getTime() - toldAt.getTime() };
}
