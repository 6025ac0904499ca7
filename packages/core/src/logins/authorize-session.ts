import { AccessError, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { AuthorizationStart, SessionAuthorization } from '@belay/contract/providers';
import { z } from 'zod';
import { requireUser } from '../actor.js';
import { findProvider } from '../catalog/providers.js';
import type { CompiledProvider } from '../configuration/catalog.js';
import type { ActorContext } from '../context.js';
import { requireText } from '../text.js';
import { checkCallback } from './callback.js';
import { beginFlow } from './flow.js';

export interface AuthorizeSession extends SessionAuthorization {
  provider: string;
  /** The secret that only the caller's browser knows, when the caller is a browser. */
  browserSecret?: string | undefined;
}

/**
 * Starts an OAuth 2.0 flow that opens, or renews, the caller's session with a provider (authorizeSession). Returns the URL for the person's
 * browser, and for how many seconds it is valid. Throws `not_found`, `not_configured` for a provider that does not support sign-in, and
 * `invalid` for a scope or a redirect URI that is not allowed.
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

/** The part of a connector's configuration that lists the scopes of a session. */
const scopesOf = z.object({ scopes: z.array(z.string()).catch([]), session_scopes: z.array(z.string()).catch([]) });

/**
 * Returns the requested scopes, each allowed by the provider's `scopes` or `session_scopes`. Throws `invalid` for the first scope that is
 * not allowed.
 */
function checkScopes(provider: CompiledProvider, asked: readonly string[]): string[] {
  const parsed = scopesOf.safeParse(provider.config ?? {});
  const allowed = new Set(parsed.success ? [...parsed.data.scopes, ...parsed.data.session_scopes] : []);
  asked.forEach((scope, index) => {
    if (!allowed.has(scope)) throw invalid(`scopes[${index}]`, 'is not an allowed scope of this provider');
  });
  return [...new Set(asked)];
}
