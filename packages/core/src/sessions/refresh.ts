import { logins, sessions } from '@belay/db';
import { type ProviderTokens, Retryable, Terminal } from '@belay/providers';
import { and, asc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { AccessError } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { lifeOf } from './lifetime.js';
import { openTokens } from './seal-tokens.js';

type Row = typeof sessions.$inferSelect;

const together = 8;
/** What one pass takes at most; the next takes the rest. */
const most = 200;

/**
 * Refreshes sessions whose time comes, for as long as their login lives. Each is claimed first, so that no refresh token is
 * used by two workers at once; what a worker learns counts only while the session is as it was claimed. Answers how many
 * sessions have new tokens.
 */
export async function refreshSessions(ctx: Context): Promise<number> {
  let refreshed = 0;
  for (let seen = 0; seen < most; seen += together) {
    const rows = await claim(ctx);
    const results = await Promise.all(rows.map((row) => refreshSession(ctx, row)));
    refreshed += results.filter(Boolean).length;
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

async function refreshSession(ctx: Context, row: Row): Promise<boolean> {
  try {
    const now = await readNow(ctx.db);
    const old = await openTokens(ctx, row.sealed, now);
    const client = ctx.catalog.client(row.provider);
    // Switched off, or not ready here: that may pass, and another process may know better.
    if (!client) throw new Retryable('The provider has no client');
    const { authenticator } = client;
    if (!authenticator?.refresh || old.refreshToken === undefined) {
      await giveUp(ctx, row, 'the provider refreshes no sessions');
      return false;
    }
    const request = { refreshToken: old.refreshToken, subject: row.subject };
    const tokens = await authenticator.refresh(request, AbortSignal.timeout(ctx.timing.callTimeout));
    return await record(ctx, row, { refreshToken: old.refreshToken, ...tokens }, now);
  } catch (error) {
    if (error instanceof Terminal || error instanceof AccessError) {
      await giveUp(ctx, row, 'the provider refused');
    } else {
      ctx.log.warn({ provider: row.provider, error }, 'a session could not be refreshed yet');
      await ctx.db
        .update(sessions)
        .set({ leaseUntil: null, refreshAt: sql`app_now() + ${`${ctx.timing.session.retry} milliseconds`}::interval` })
        .where(unchanged(row));
    }
    return false;
  }
}

/** Still the session that was claimed: `sealed` is never twice the same, and a login may have taken another's place meanwhile. */
function unchanged(row: Row) {
  return and(eq(sessions.userId, row.userId), eq(sessions.provider, row.provider), eq(sessions.sealed, row.sealed));
}

async function record(ctx: Context, row: Row, tokens: ProviderTokens, now: Date): Promise<boolean> {
  const life = await lifeOf(ctx, row.provider, tokens, now);
  return ctx.db.transaction(async (tx) => {
    const [made] = await tx
      .update(sessions)
      .set({ ...life, version: sql`${sessions.version} + 1`, leaseUntil: null })
      .where(unchanged(row))
      .returning({ version: sessions.version, loginId: sessions.loginId });
    // The login ended, or the person signed in again: the new tokens are nobody's and are dropped.
    if (!made) return false;
    await appendLedger(tx, [
      {
        type: 'session.refreshed',
        message: `The session with ${row.provider} goes on`,
        actor: { kind: 'system', name: 'sessions' },
        userId: row.userId,
        provider: row.provider,
        data: { version: made.version, expires_at: life.expiresAt.toISOString(), login_id: made.loginId },
      },
    ]);
    return true;
  });
}

/** Nothing more to ask with: the session lasts as long as its tokens and no longer. */
async function giveUp(ctx: Context, row: Row, because: string): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const gone = await tx
      .update(sessions)
      .set({ refreshAt: null, leaseUntil: null })
      .where(unchanged(row))
      .returning({ loginId: sessions.loginId });
    if (gone.length === 0) return;
    await appendLedger(tx, [
      {
        type: 'session.refresh.refused',
        level: 'warning',
        message: `The session with ${row.provider} will not go on: ${because}`,
        actor: { kind: 'system', name: 'sessions' },
        userId: row.userId,
        provider: row.provider,
        data: { login_id: row.loginId },
      },
    ]);
  });
}
