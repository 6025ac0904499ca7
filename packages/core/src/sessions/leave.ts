import { deviceLogins, loginCodes, logins, programLogins, sessions, type Transaction } from '@belay/db';
import { and, asc, eq, gt, sql } from 'drizzle-orm';

/**
 * Removes what a provider proved from a login whose row is locked: its session there, and what waits for it. The login
 * ends when it proves nothing else; otherwise it stands for an identity that is still signed in. Returns what has
 * ended: the login, only its session with the provider, or nothing.
 */
export async function leaveProvider(
  tx: Transaction,
  login: typeof logins.$inferSelect,
  provider: string,
): Promise<'nothing' | 'session' | 'login'> {
  const gone = await tx
    .delete(sessions)
    .where(and(eq(sessions.loginId, login.id), eq(sessions.provider, provider)))
    .returning({ provider: sessions.provider });
  if (gone.length === 0 && login.provider !== provider) return 'nothing';
  const [left] = await tx
    .select({ provider: sessions.provider, subject: sessions.subject, sid: sessions.sid })
    .from(sessions)
    .where(and(eq(sessions.loginId, login.id), gt(sessions.expiresAt, sql`app_now()`)))
    .orderBy(asc(sessions.createdAt))
    .limit(1);
  if (!left) {
    await tx.delete(logins).where(eq(logins.id, login.id));
    return 'login';
  }
  if (login.provider === provider) await tx.update(logins).set(left).where(eq(logins.id, login.id));
  // Sign-ins that were approved as that identity, and that no client has fetched yet.
  for (const table of [deviceLogins, programLogins, loginCodes]) {
    await tx.delete(table).where(and(eq(table.loginId, login.id), eq(table.provider, provider)));
  }
  return 'session';
}
