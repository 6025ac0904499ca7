import type { PolledDeviceLogin } from '@belay/contract/auth';
import { hashSecret } from '@belay/contract/canonical';
import { AccessError } from '@belay/contract/errors';
import { deviceLogins, logins, sessions, type Transaction } from '@belay/db';
import type { ProviderTokens } from '@belay/providers';
import { and, eq, gt, isNull, lte, or, sql } from 'drizzle-orm';
import type { Context, Person } from '../../context.js';
import { readNow } from '../../now.js';
import { readPerson } from '../../people/people.js';
import { sealSession } from '../../sessions/issue.js';
import { openSession } from '../../sessions/open.js';
import { openTokens } from '../../sessions/seal-tokens.js';
import { createLogin } from '../create.js';
import { deviceInterval } from './start.js';

/**
 * Returns the login, once, when the person has approved it (RFC 8628, section 3.4). Before that, returns whether the program may keep its
 * interval. Throws `forbidden` when the sign-in was denied, and `invalid` for a code that is unknown, used or expired, or was approved in a
 * login that has ended.
 */
export async function pollDeviceLogin(ctx: Context, input: { device_code: string }): Promise<PolledDeviceLogin> {
  const mine = and(
    eq(deviceLogins.deviceHash, hashSecret(input.device_code)),
    gt(deviceLogins.expiresAt, sql`app_now()`),
  );
  const [found] = await ctx.db.select().from(deviceLogins).where(mine);
  if (found?.status === 'denied') throw new AccessError('forbidden', 'The sign-in was denied');
  if (!found || found.status === 'used') throw gone();
  if (found.status === 'open') {
    const pause = `${deviceInterval * 1000 - 500} milliseconds`;
    const inTime = await ctx.db
      .update(deviceLogins)
      .set({ polledAt: sql`app_now()` })
      .where(
        and(mine, or(isNull(deviceLogins.polledAt), lte(deviceLogins.polledAt, sql`app_now() - ${pause}::interval`))),
      )
      .returning({ at: deviceLogins.polledAt });
    return inTime.length > 0
      ? { status: 'pending', interval: deviceInterval }
      : { status: 'slow_down', interval: deviceInterval * 2 };
  }
  return complete(ctx, found);
}

async function complete(ctx: Context, found: typeof deviceLogins.$inferSelect): Promise<PolledDeviceLogin> {
  const now = await readNow(ctx.db);
  const { user, login, opened } = await ctx.db.transaction(async (tx) => {
    const { proved, sid } = await proveAgain(ctx, tx, found);
    const [used] = await tx
      .update(deviceLogins)
      .set({ status: 'used' })
      .where(and(eq(deviceLogins.deviceHash, found.deviceHash), eq(deviceLogins.status, 'approved')))
      .returning({ id: deviceLogins.deviceHash });
    if (!proved || !used) throw gone();
    const made = await createLogin(ctx, { user: proved, kind: 'device', label: found.label, sid }, tx);
    const tokens = await shareTokens(ctx, tx, { found, now });
    return {
      user: proved,
      login: made,
      opened:
        tokens && (await openSession(ctx, tx, { user: proved, loginId: made.loginId, kind: 'device', tokens, now })),
    };
  });
  const { email, name, groups } = user;
  return {
    status: 'complete',
    token: login.token,
    expires_at: login.expiresAt.toISOString(),
    user: { email, name, groups, provider: user.provider },
    session: opened
      ? await sealSession(ctx, user, { ...opened, loginId: login.loginId, provider: user.provider }, now)
      : null,
  };
}

/** Returns the person who approved, by the identity that they approved with, while their login lasts. */
async function proveAgain(
  ctx: Context,
  tx: Transaction,
  { loginId, provider, subject }: typeof deviceLogins.$inferSelect,
): Promise<{ proved?: Person | undefined; sid?: string | null }> {
  if (!loginId || !provider || !subject) return {};
  // Locks the login before the rows that belong to it, in the same order as signing out.
  const [login] = await tx
    .select({ userId: logins.userId, provider: logins.provider, sid: logins.sid })
    .from(logins)
    .where(and(eq(logins.id, loginId), gt(logins.expiresAt, sql`app_now()`)))
    .for('key share');
  if (!login) return {};
  const proved = await readPerson(ctx, tx, { userId: login.userId, provider, subject });
  return { proved, sid: login.provider === provider ? login.sid : null };
}

/**
 * Returns the provider's tokens of the session in which the sign-in was approved, while that session lasts. The refresh token is left out,
 * because it has only one holder. Undefined when there is no such session.
 */
async function shareTokens(
  ctx: Context,
  tx: Transaction,
  { found, now }: { found: typeof deviceLogins.$inferSelect; now: Date },
): Promise<ProviderTokens | undefined> {
  const { loginId, provider, subject } = found;
  if (!loginId || !provider || !subject) return undefined;
  const [session] = await tx
    .select({ sealed: sessions.sealed, expiresAt: sessions.expiresAt })
    .from(sessions)
    .where(
      and(
        eq(sessions.loginId, loginId),
        eq(sessions.provider, provider),
        eq(sessions.subject, subject),
        gt(sessions.expiresAt, sql`app_now()`),
      ),
    );
  if (!session) return undefined;
  const { refreshToken: _kept, ...shared } = await openTokens(ctx, session.sealed, now);
  return { ...shared, expiresInMilliseconds: session.expiresAt.getTime() - now.getTime() };
}

function gone(): AccessError {
  return new AccessError('invalid', 'The code is unknown, already used or expired; start again');
}
