import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { logoutTokens } from '@belay/db';
import { Retryable } from '@belay/providers';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { endAtProvider } from '../sessions/end-at-provider.js';
import { authenticatorOf } from './flow.js';

/**
 * Receives a logout token that a provider sends when a person has signed out there, or was signed out (OpenID Connect Back-Channel Logout
 * 1.0): immediately ends the sessions and logins of the sign-in that the token names, or of all of the person's sign-ins. Throws
 * `not_found`, `invalid` for a token that is not valid or was already received, and `unavailable` when the provider's keys cannot be
 * fetched.
 */
export async function receiveLogout(
  ctx: Context,
  input: { provider: string; logout_token: string },
): Promise<{ message: string }> {
  const { provider } = input;
  const authenticator = authenticatorOf(ctx, provider);
  if (!authenticator.readLogout) throw invalid('provider', 'does not send logout tokens');
  const now = await readNow(ctx.db);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const told = await authenticator.readLogout(input.logout_token, now, signal).catch((cause: unknown) => {
    ctx.log.warn({ provider, error: cause }, 'a logout token was rejected');
    if (cause instanceof Retryable)
      throw new AccessError('unavailable', `The provider "${provider}" cannot be reached`, { cause });
    throw invalid('logout_token', 'is not a valid logout token for this service');
  });
  const { id, subject, sid, until } = told;
  return ctx.db.transaction(async (tx) => {
    const [first] = await tx
      .insert(logoutTokens)
      .values({ provider, tokenHash: hashSecret(id), sid: sid ?? null, expiresAt: until })
      .onConflictDoNothing()
      .returning({ provider: logoutTokens.provider });
    if (!first) throw invalid('logout_token', 'was already received');
    const because = `"${provider}" signed the person out`;
    const ended = await endAtProvider(tx, { provider, ended: { subject, sid }, because });
    await appendLedger(tx, [
      {
        type: 'logout.received',
        level: 'warning',
        message: `"${provider}" sent a logout token: ${ended} logins ended or changed`,
        actor: { kind: 'system', name: 'sessions' },
        provider,
        data: { logins: ended, whole: sid === undefined },
      },
    ]);
    return { message: 'The logins of this sign-in have ended' };
  });
}
