import { deviceLogins } from '@belay/db';
import { and, eq, gt, isNull, lte, or, sql } from 'drizzle-orm';
import { hashSecret } from '../../canonical.js';
import type { Context } from '../../context.js';
import { AccessError } from '../../errors.js';
import { readNow } from '../../now.js';
import { type Session, sealSession } from '../../sessions/issue.js';
import { openSession } from '../../sessions/open.js';
import { openTokens } from '../../sessions/seal-tokens.js';
import { createLogin } from '../create.js';
import { readPerson } from '../people.js';
import { deviceInterval } from './start.js';

export type PolledDeviceLogin =
  /** `slow_down`: asked again before the interval was over. Seconds. */
  | { status: 'pending' | 'slow_down'; interval: number }
  | {
      status: 'complete';
      token: string;
      expires_at: string;
      user: { email: string; name: string; groups: string[]; provider: string };
      /** Null when whoever confirmed has no session with their provider any more. */
      session: Session | null;
    };

/**
 * Asks whether somebody has confirmed (RFC 8628, section 3.4). The login is handed out once. Throws `forbidden` when it was
 * refused, and `invalid` for a code that is unknown, used or over.
 */
export async function pollDeviceLogin(ctx: Context, input: { device_code: string }): Promise<PolledDeviceLogin> {
  const mine = and(
    eq(deviceLogins.deviceHash, hashSecret(input.device_code)),
    gt(deviceLogins.expiresAt, sql`app_now()`),
  );
  const [found] = await ctx.db.select().from(deviceLogins).where(mine);
  if (found?.status === 'denied') throw new AccessError('forbidden', 'The sign-in was refused');
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
  const { userId, provider, subject, label, sealed, deviceHash } = found;
  const user = userId && provider && subject ? await readPerson(ctx.db, { userId, provider, subject }) : undefined;
  if (!user) throw gone();
  const now = await readNow(ctx.db);
  const tokens = sealed === null ? undefined : await openTokens(ctx, sealed, now);
  const { login, opened } = await ctx.db.transaction(async (tx) => {
    const [used] = await tx
      .update(deviceLogins)
      .set({ status: 'used', sealed: null })
      .where(and(eq(deviceLogins.deviceHash, deviceHash), eq(deviceLogins.status, 'approved')))
      .returning({ id: deviceLogins.deviceHash });
    if (!used) throw gone();
    const made = await createLogin(ctx, { user, kind: 'device', label }, tx);
    return {
      login: made,
      opened: tokens && (await openSession(ctx, tx, { user, loginId: made.loginId, tokens, now })),
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

function gone(): AccessError {
  return new AccessError('invalid', 'The code is unknown, used or too old; begin again');
}
