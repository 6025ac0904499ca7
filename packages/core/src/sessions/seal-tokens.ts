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

/** Opens what `sealTokens` sealed. Throws `invalid` when it has expired or is not that. */
export async function openTokens(ctx: Context, sealed: string, now: Date): Promise<ProviderTokens> {
  return stored.parse(await open(ctx.keyring, 'session', sealed, now)).tokens;
}
