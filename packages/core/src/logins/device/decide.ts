import { AccessError, notFound } from '@belay/contract/errors';
import type { Verdict } from '@belay/contract/fields';
import { deviceLogins, logins, type Transaction } from '@belay/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import { requireUser } from '../../actor.js';
import type { ActorStore, UserActor } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { hashUserCode, readUserCode } from './codes.js';

/**
 * Approves or denies, once, that the machine that showed this code signs in as the caller. Throws `forbidden` for a login that does not
 * belong to a browser, and `not_found` for a code that is unknown, decided or expired.
 */
export async function decideDeviceLogin(
  ctx: ActorStore,
  input: { user_code: string; verdict: Verdict },
): Promise<{ message: string }> {
  const user = requireUser(ctx);
  const code = readUserCode(input.user_code);
  const approved = input.verdict === 'approve';
  return ctx.db.transaction(async (tx) => {
    await requireBrowser(tx, user);
    const { loginId, provider, subject } = user;
    const [decided] =
      code === undefined
        ? []
        : await tx
            .update(deviceLogins)
            .set(approved ? { status: 'approved', loginId, provider, subject } : { status: 'denied' })
            .where(
              and(
                eq(deviceLogins.userCodeHash, hashUserCode(code)),
                eq(deviceLogins.status, 'open'),
                gt(deviceLogins.expiresAt, sql`app_now()`),
              ),
            )
            .returning({ label: deviceLogins.label });
    if (!decided) throw notFound('A sign-in that waits with this code');
    const { label } = decided;
    await appendLedger(tx, [
      {
        type: approved ? 'device.approved' : 'device.denied',
        level: 'warning',
        message: `${user.email} ${approved ? 'approved' : 'denied'} the sign-in of "${label}" as them`,
        actor: user,
        userId: user.id,
        provider,
        data: { label },
      },
    ]);
    return approved
      ? { message: `"${label}" is signed in as ${user.email}. You can close this page.` }
      : { message: `The sign-in of "${label}" was denied.` };
  });
}

/** Throws `forbidden` for a program's login: it must not create further logins, which could last longer than it does. */
async function requireBrowser(tx: Transaction, user: UserActor): Promise<void> {
  const [login] = await tx
    .select({ kind: logins.kind })
    .from(logins)
    .where(eq(logins.id, user.loginId))
    .for('key share');
  if (login?.kind !== 'browser') throw new AccessError('forbidden', 'This sign-in can only be confirmed in a browser');
}
