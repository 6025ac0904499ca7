import { AccessError } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { AuthorizationStart, SessionAuthorization } from '@belay/contract/providers';
import { requireUser } from '../actor.js';
import { findProvider } from '../catalog/providers.js';
import type { ActorContext } from '../context.js';
import { requireText } from '../text.js';
import { checkCallback } from './callback.js';
import { beginFlow } from './flow.js';
import { checkScopes } from './scopes.js';

export interface AuthorizeSession extends SessionAuthorization {
  provider: string;
  /** What only the caller's browser knows, when the caller is one. */
  browserSecret?: string | undefined;
}

/**
 * Starts an OAuth 2.0 flow that opens, or renews, the caller's session with a provider (authorizeSession).
 * Answers where to send the person, and for how many seconds that is good. Throws `not_found`, `not_configured` for a
 * provider that signs nobody in, and `invalid` for a scope or a redirect URI that is not allowed.
 */
export async function authorizeSession(ctx: ActorContext, input: AuthorizeSession): Promise<AuthorizationStart> {
  const user = requireUser(ctx);
  const provider = findProvider(ctx, input.provider);
  if (!provider.capabilities.has('authenticator') || !ctx.catalog.client(provider.id)?.authenticator) {
    throw new AccessError('not_configured', `The provider "${provider.id}" does not support sign-in`);
  }
  const url = await beginFlow(ctx, {
    provider: provider.id,
    purpose: 'session',
    scopes: checkScopes(provider, input.scopes),
    callback: checkCallback(ctx, input.redirect_uri, 'redirect_uri').href,
    clientState: requireText(input.state, 'state', limits.clientState),
    browserSecret: input.browserSecret,
    loginId: user.loginId,
  });
  return { url: url.href, expires_in: Math.floor(ctx.timing.loginFlow / 1000) };
}
