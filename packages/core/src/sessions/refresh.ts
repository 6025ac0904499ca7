import { logins, sessions } from '@belay/db';
import { and, asc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { renewSession } from './renew.js';

type Row = typeof sessions.$inferSelect;

const together = 8;
/** The maximum number per pass; the next pass takes the rest. */
const most = 200;

/**
 * Refreshes sessions that are due, while their login lasts. Each is claimed first, so that no refresh token is used by
 * two workers at the same time; the result counts only while the session is unchanged since the claim. Returns how
 * many sessions have new tokens.
 */
export async function refreshSessions(ctx: Context): Promise<number> {
  let refreshed = 0;
  for (let seen = 0; seen < most; seen += together) {
    const rows = await claim(ctx);
    const results = await Promise.all(rows.map((row) => renewSession(ctx, row, 'tokens')));
    refreshed += results.filter((result) => result === 'renewed').length;
    if (rows.length < together) break;
  }
  return refreshed;
}

async function claim(ctx: Context): Promise<Row[]> {
  const due = ctx.db
    .select({ loginId: sessions.loginId, provider: sessions.provider })
    .from(sessions)
    .innerJoin(logins, eq(logins.id, sessions.loginId))
    .where(
      and(
        isNotNull(sessions.refreshAt),
        lte(sessions.refreshAt, sql`app_now()`),
        or(isNull(sessions.leaseUntil), lte(sessions.leaseUntil, sql`app_now()`)),
        gt(logins.expiresAt, sql`app_now()`),
      ),
    )
    .orderBy(asc(sessions.refreshAt))
    .limit(together)
    .for('update', { of: sessions, skipLocked: true })
    .as('due');
  return ctx.db
    .update(sessions)
    .set({ leaseUntil: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval` })
    .where(sql`(${sessions.loginId}, ${sessions.provider}) in (select login_id, provider from ${due})`)
    .returning();
}
