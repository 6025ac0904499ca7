import { sessions, type Transaction } from '@belay/db';
import type { ProviderTokens } from '@belay/providers';
import { sql } from 'drizzle-orm';
import type { Context, Person } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { lifeOf } from './seal-tokens.js';

/**
 * Opens a login's session with the provider that just proved `user`, or gives the existing one new tokens and the next
 * version, so that session tokens of the old version become invalid.
 */
export async function openSession(
  ctx: Context,
  tx: Transaction,
  input: { user: Person; loginId: string; kind: string; tokens: ProviderTokens; now: Date },
): Promise<{ version: number; expiresAt: Date }> {
  const { user, loginId, tokens, now } = input;
  const { provider, subject } = user;
  const { loginEnd } = ctx.catalog.current();
  const endsAt = new Date(now.getTime() + (input.kind === 'browser' ? loginEnd.browser : loginEnd.device));
  const life = { ...(await lifeOf(ctx, provider, tokens, { now, endsAt })), endsAt };
  const [session] = await tx
    .insert(sessions)
    .values({ loginId, provider, subject, userId: user.id, version: 1, ...life })
    .onConflictDoUpdate({
      target: [sessions.loginId, sessions.provider],
      set: { subject, ...life, version: sql`${sessions.version} + 1`, leaseUntil: null },
    })
    .returning({ version: sessions.version, expiresAt: sessions.expiresAt });
  if (!session) throw new Error('A session could not be stored');
  await appendLedger(tx, [
    {
      type: 'session.opened',
      message: `${user.email} has a session with ${provider}`,
      actor: { kind: 'user', ...user, loginId },
      userId: user.id,
      provider,
      data: { version: session.version, expires_at: session.expiresAt.toISOString(), login_id: loginId },
    },
  ]);
  return session;
}
