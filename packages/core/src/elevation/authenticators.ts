import { AccessError, invalid } from '@belay/contract/errors';
import type { CompiledRole } from '../configuration/catalog.js';
import type { ActorContext, UserActor } from '../context.js';
import { findSessions } from '../sessions/find.js';
import { type PresentedSession, verifySession } from '../sessions/verify.js';

/**
 * Checks that the caller has signed in as the request and the role require. What counts is what they are signed in
 * with now: their login's provider, its sessions, and the session that they present. Throws `invalid` for an
 * authenticator that is not one of these, `forbidden` when the role requires another, and the errors of `verifySession`.
 */
export async function checkAuthenticator(
  ctx: ActorContext,
  user: UserActor,
  role: CompiledRole,
  request: { authenticator?: string | undefined; session?: PresentedSession | undefined },
): Promise<void> {
  const { authenticator, session } = request;
  const allowed = role.definition.authenticators;
  const presented = session === undefined ? undefined : await verifySession(ctx, session);
  if (authenticator !== undefined && presented !== undefined && presented.provider !== authenticator) {
    throw invalid('authenticator', `the session belongs to "${presented.provider}"`);
  }
  if (authenticator === undefined && allowed === undefined) return;
  const own = await findSessions(ctx, user, { loginId: user.loginId });
  const proved = new Set([user.provider, ...own.map(({ provider }) => provider)]);
  if (presented) proved.add(presented.provider);
  if (authenticator !== undefined && !proved.has(authenticator)) {
    throw invalid('authenticator', `you are signed in with ${[...proved].map((one) => `"${one}"`).join(' and ')}`);
  }
  const counted = authenticator === undefined ? [...proved] : [authenticator];
  if (allowed && !counted.some((one) => allowed.includes(one))) {
    throw new AccessError('forbidden', `Sign in with ${allowed.join(' or ')} to request this role`);
  }
}
