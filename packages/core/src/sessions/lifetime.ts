import type { ProviderTokens } from '@belay/providers';
import type { Context } from '../context.js';
import { sealTokens } from './seal-tokens.js';

/**
 * What of a session follows from its tokens: when it ends, when it is refreshed (where the provider has that, and gave
 * something to refresh with), and the tokens sealed for as long as they can be of use. Tokens without an end get a login's.
 * It never outlasts `endsAt`: then the person proves themselves again.
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
