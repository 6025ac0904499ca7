import { sessions } from '@belay/db';
import { and, isNull, lte, or, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';

/**
 * Deletes sessions that have ended. They had no effect since their end; one that can still be refreshed is kept for a
 * while, because a sweep may come later than a short-lived token lasts. Returns how many.
 */
export async function expireSessions(ctx: Store): Promise<number> {
  const grace = `${ctx.timing.session.grace} milliseconds`;
  return ctx.db.transaction(async (tx) => {
    const gone = await tx
      .delete(sessions)
      .where(
        and(
          lte(sessions.expiresAt, sql`app_now()`),
          or(isNull(sessions.refreshAt), lte(sessions.expiresAt, sql`app_now() - ${grace}::interval`)),
        ),
      )
      .returning({ userId: sessions.userId, provider: sessions.provider, loginId: sessions.loginId });
    await appendLedger(
      tx,
      gone.map(({ userId, provider, loginId }) => ({
        type: 'session.expired',
        message: `The session with ${provider} has ended`,
        actor: { kind: 'system' as const, name: 'sessions' },
        userId,
        provider,
        data: { login_id: loginId },
      })),
    );
    return gone.length;
  });
}
