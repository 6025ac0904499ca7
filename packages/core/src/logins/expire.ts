import { deviceLogins, idempotencyKeys, loginCodes, logins, logoutTokens, oauthFlows, programLogins } from '@belay/db';
import { lte, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { expireSessions } from '../sessions/expire.js';
import { refreshSessions } from '../sessions/refresh.js';

/**
 * Deletes expired logins with their sessions, flows, codes, received logout tokens and idempotency keys; they have no
 * effect any more, and only take up space. Then refreshes the sessions that are due and deletes those that have ended.
 * Returns how many rows were deleted.
 */
export async function expireLogins(ctx: Context): Promise<number> {
  const lifetime = `${ctx.timing.idempotency} milliseconds`;
  const over = sql`app_now()`;
  const gone = await Promise.all([
    ctx.db.delete(logins).where(lte(logins.expiresAt, over)).returning({ id: logins.id }),
    ctx.db.delete(oauthFlows).where(lte(oauthFlows.expiresAt, over)).returning({ id: oauthFlows.stateHash }),
    ctx.db.delete(deviceLogins).where(lte(deviceLogins.expiresAt, over)).returning({ id: deviceLogins.deviceHash }),
    ctx.db.delete(programLogins).where(lte(programLogins.expiresAt, over)).returning({ id: programLogins.requestHash }),
    ctx.db.delete(logoutTokens).where(lte(logoutTokens.expiresAt, over)).returning({ id: logoutTokens.tokenHash }),
    ctx.db.delete(loginCodes).where(lte(loginCodes.expiresAt, over)).returning({ id: loginCodes.codeHash }),
    ctx.db
      .delete(idempotencyKeys)
      .where(lte(idempotencyKeys.createdAt, sql`app_now() - ${lifetime}::interval`))
      .returning({ id: idempotencyKeys.key }),
  ]);
  await refreshSessions(ctx);
  return gone.reduce((total, rows) => total + rows.length, 0) + (await expireSessions(ctx));
}
