import { AccessError } from '@belay/contract/errors';
import { inOrder, logins, type Transaction, users } from '@belay/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import type { UserActor } from '../context.js';

/**
 * Holds off `stopUser` until this transaction is over, and throws `unauthenticated` when the login that it acts by has
 * ended since it was verified. Without it a request on its way could outlive the person who made it.
 */
export async function requireLive(tx: Transaction, user: UserActor): Promise<void> {
  const live = and(eq(logins.id, user.loginId), gt(logins.expiresAt, sql`app_now()`));
  const [, login] = await inOrder([
    // As `stopUser` and the count of open requests lock it: excludes both, and no lock of a foreign key.
    tx.select({ id: users.id }).from(users).where(eq(users.id, user.id)).for('no key update'),
    tx.select({ id: logins.id }).from(logins).where(live),
  ]);
  if (login.length === 0) throw new AccessError('unauthenticated', 'Your session has ended; sign in again');
}
