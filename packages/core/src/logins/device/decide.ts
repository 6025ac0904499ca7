import { deviceLogins, sessions, type Transaction } from '@belay/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import { requireUser } from '../../actor.js';
import type { ActorContext, UserActor } from '../../context.js';
import { notFound } from '../../errors.js';
import { appendLedger } from '../../ledger/append.js';
import { readNow } from '../../now.js';
import { openTokens, sealTokens } from '../../sessions/seal-tokens.js';
import { hashUserCode } from './codes.js';

/**
 * Lets a machine that showed this code sign in as the caller, or refuses it: once. The machine gets a login of its own, and a
 * session without what would renew it, which has one holder only. Throws `not_found` for a code that is unknown, decided or over.
 */
export async function decideDeviceLogin(
  ctx: ActorContext,
  input: { user_code: string; verdict: 'approve' | 'deny' },
): Promise<{ message: string }> {
  const user = requireUser(ctx);
  const hash = hashUserCode(input.user_code);
  if (hash === undefined) throw notFound('A sign-in with this code');
  const sealed = input.verdict === 'approve' ? await shareTokens(ctx, user) : null;
  return ctx.db.transaction(async (tx) => {
    const [decided] = await tx
      .update(deviceLogins)
      .set(
        input.verdict === 'approve'
          ? { status: 'approved', userId: user.id, provider: user.provider, subject: user.subject, sealed }
          : { status: 'denied' },
      )
      .where(
        and(
          eq(deviceLogins.userCodeHash, hash),
          eq(deviceLogins.status, 'open'),
          gt(deviceLogins.expiresAt, sql`app_now()`),
        ),
      )
      .returning({ label: deviceLogins.label });
    if (!decided) throw notFound('A sign-in with this code');
    await record(tx, user, { ...input, label: decided.label });
    return input.verdict === 'approve'
      ? { message: `"${decided.label}" is signed in as ${user.email}. You can close this page.` }
      : { message: `"${decided.label}" was refused.` };
  });
}

async function record(
  tx: Transaction,
  user: UserActor,
  { verdict, label }: { verdict: 'approve' | 'deny'; label: string },
): Promise<void> {
  const approved = verdict === 'approve';
  await appendLedger(tx, [
    {
      type: approved ? 'device.approved' : 'device.denied',
      level: 'warning',
      message: `${user.email} ${approved ? 'let' : 'refused to let'} "${label}" sign in as them`,
      actor: user,
      userId: user.id,
      provider: user.provider,
      data: { label },
    },
  ]);
}

/** The provider's tokens of the caller's own session, as far as two may hold them; null when they have none. */
async function shareTokens(ctx: ActorContext, user: UserActor): Promise<string | null> {
  const [session] = await ctx.db
    .select({ sealed: sessions.sealed, provider: sessions.provider })
    .from(sessions)
    .where(
      and(
        eq(sessions.loginId, user.loginId),
        eq(sessions.provider, user.provider),
        gt(sessions.expiresAt, sql`app_now()`),
      ),
    );
  if (!session) return null;
  const now = await readNow(ctx.db);
  const { refreshToken: _kept, ...shared } = await openTokens(ctx, session.sealed, now);
  return sealTokens(ctx, shared, { now, lifetime: ctx.timing.loginFlow });
}
