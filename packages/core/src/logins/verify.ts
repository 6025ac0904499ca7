import type { Context, UserActor } from '../context.js';
import { luciaOf } from './lucia.js';

export interface VerifiedLogin {
  actor: UserActor;
  expiresAt: Date;
  /** True when its end was moved on because it is in use. */
  refreshed: boolean;
  kind: 'browser' | 'device' | 'token';
}

/** Who a login's secret proves, or null when it is unknown or over; the two look alike. */
export async function verifyLogin(ctx: Context, input: { token: string }): Promise<VerifiedLogin | null> {
  if (input.token.length < 20 || input.token.length > 200) return null;
  const { session, user } = await luciaOf(ctx).validateSession(input.token);
  if (!session || !user) return null;
  const { id, email, name, groups, provider, subject } = user;
  return {
    actor: { kind: 'user', id, email, name, groups, provider, subject, loginId: session.loginId },
    expiresAt: session.expiresAt,
    refreshed: session.fresh && session.kind !== 'token',
    kind: session.kind,
  };
}
