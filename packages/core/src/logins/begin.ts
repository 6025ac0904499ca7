import { oauthFlows } from '@belay/db';
import type { Authenticator } from '@belay/providers';
import { hashSecret } from '../canonical.js';
import type { Context } from '../context.js';
import { AccessError, invalid, notFound } from '../errors.js';
import { readNow } from '../now.js';
import { seal } from '../tokens/seal.js';
import { checkCallback } from './callback.js';

export interface BeginLogin {
  provider: string;
  /** Where to return to; see checkCallback. */
  callback?: string | undefined;
  /** S256 challenge of a program that will exchange the code it gets at its callback (RFC 7636). */
  codeChallenge?: string | undefined;
  /** What only this browser knows: the flow comes back to it or not at all. */
  browserSecret: string;
}

/** Sends a browser to a provider's sign-in: PKCE, state and nonce always (design §10). Answers the URL to go to. */
export async function beginLogin(ctx: Context, input: BeginLogin): Promise<{ url: string }> {
  const authenticator = authenticatorOf(ctx, input.provider);
  const callback = input.callback === undefined ? null : checkCallback(ctx, input.callback).href;
  if (input.codeChallenge !== undefined) {
    if (!/^[A-Za-z0-9_-]{43}$/.test(input.codeChallenge)) throw invalid('code_challenge', 'is not an S256 challenge');
    if (callback === null) throw invalid('callback', 'is required with a code_challenge');
  }
  const secret = () => Buffer.from(ctx.randomBytes(32)).toString('base64url');
  const [state, nonce, codeVerifier] = [secret(), secret(), secret()];
  const now = await readNow(ctx.db);
  const lifetime = ctx.timing.loginFlow;
  const url = await authenticator
    .authorizationUrl(
      { redirectUri: redirectUri(ctx, input.provider), state, nonce, codeVerifier },
      AbortSignal.timeout(ctx.timing.callTimeout),
    )
    .catch((cause: unknown) => {
      throw new AccessError('unavailable', `The provider "${input.provider}" cannot be reached`, { cause });
    });
  await ctx.db.insert(oauthFlows).values({
    stateHash: hashSecret(state),
    provider: input.provider,
    callback,
    sealed: await seal(ctx.keyring, 'oauth', { nonce, codeVerifier }, { now, lifetime }),
    codeChallenge: input.codeChallenge ?? null,
    browserHash: hashSecret(input.browserSecret),
    expiresAt: new Date(now.getTime() + lifetime),
  });
  return { url: url.href };
}

/** An enabled provider that people may sign in with. Throws `not_found` for any other. */
export function authenticatorOf(ctx: Context, id: string): Authenticator {
  const provider = ctx.catalog.current().providers.get(id);
  const authenticator = ctx.catalog.client(id)?.authenticator;
  if (!provider?.enabled || !provider.capabilities.has('authenticator') || !authenticator)
    throw notFound(`Authenticator ${id}`);
  return authenticator;
}

/** Where providers return to; it must be registered with them. */
export function redirectUri(ctx: Context, provider: string): string {
  return new URL(`/api/v1/auth/callback/${encodeURIComponent(provider)}`, ctx.program.baseUrl).href;
}
