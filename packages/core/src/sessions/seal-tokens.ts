import type { ProviderTokens } from '@belay/providers';
import { z } from 'zod';
import type { Context } from '../context.js';
import { open, type SealOptions, seal } from '../tokens/seal.js';

export const providerTokens = z.object({
  accessToken: z.string().exactOptional(),
  refreshToken: z.string().exactOptional(),
  idToken: z.string().exactOptional(),
  sid: z.string().exactOptional(),
  expiresInMilliseconds: z.number().exactOptional(),
});

/** `kind` distinguishes stored values from the tokens of clients, which are sealed for the same purpose. */
const stored = z.object({
  kind: z.literal('tokens'),
  tokens: providerTokens,
});

/** Seals a provider's tokens as they are stored. */
export function sealTokens(ctx: Context, tokens: ProviderTokens, options: SealOptions): Promise<string> {
  return seal(ctx.keyring, 'session', { kind: 'tokens', tokens: { ...tokens } }, options);
}

/** Opens what `sealTokens` sealed. Throws when the text has expired, or has another content. */
export async function openTokens(ctx: Context, sealed: string, now: Date): Promise<ProviderTokens> {
  return stored.parse(await open(ctx.keyring, 'session', sealed, now)).tokens;
}

/**
 * Returns what follows from the tokens of a session: when it ends, when it is refreshed (if the provider supports
 * that, and sent a refresh token), and the tokens, sealed for as long as they are useful. Tokens without an end last as
 * long as a login. A session never lasts longer than `endsAt`: then the person must sign in again.
 */
export async function lifeOf(ctx: Context, provider: string, tokens: ProviderTokens, at: { now: Date; endsAt: Date }) {
  const { timing } = ctx;
  const { now, endsAt } = at;
  const left = Math.max(0, endsAt.getTime() - now.getTime());
  const lifetime = Math.min(left, Math.max(0, tokens.expiresInMilliseconds ?? timing.login));
  const canRefresh = ctx.catalog.client(provider)?.authenticator?.refresh !== undefined;
  const ahead = Math.min(timing.session.ahead, lifetime / 2);
  const refreshes = canRefresh && tokens.refreshToken !== undefined && lifetime < left;
  return {
    sid: tokens.sid ?? null,
    expiresAt: new Date(now.getTime() + lifetime),
    refreshAt: refreshes ? new Date(now.getTime() + lifetime - ahead) : null,
    sealed: await sealTokens(ctx, tokens, { now, lifetime: lifetime + 2 * timing.session.grace }),
  };
}
