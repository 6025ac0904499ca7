import { loginCodes, logins, type Transaction } from '@belay/db';
import { and, ne } from 'drizzle-orm';
import { nameOf } from '../../actor.js';
import type { Actor, ActorStore } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { requireAdministrator } from '../../people/oversight.js';
import { requireReason } from '../revoke.js';
import { closeGate } from './gate.js';
import { noteCluster, readCluster } from './notice.js';

/**
 * Says that the database was restored to an earlier time: no grant is made until every provider was compared with its
 * rows and `openRestore` was called. Revocations go on. Every login of a person ends, except the one of the caller. Repeating it begins
 * again: every provider is compared anew. Throws `forbidden` and `invalid`.
 */
export async function beginRestore(ctx: ActorStore, input: { reason: string }): Promise<{ epoch: number }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const cluster = await readCluster(ctx);
  return ctx.db.transaction(async (tx) => {
    if (cluster) await noteCluster(tx, cluster);
    const epoch = await closeGate(tx, { reason, noticed: false });
    const ended = await endLogins(tx, ctx.actor);
    await appendLedger(tx, [
      {
        type: 'restore.begun',
        level: 'warning',
        message: `${nameOf(ctx.actor)} stopped all grants after a restore, and ended ${ended} logins: ${reason}`,
        actor: ctx.actor,
        data: { reason, epoch, logins: ended },
      },
    ]);
    return { epoch };
  });
}

/**
 * Ends logins, because those that were ended since the backup are back: of people who signed out, were stopped or have left. Tokens stay,
 * because programs cannot get new ones by themselves. Returns how many ended.
 */
async function endLogins(tx: Transaction, actor: Actor): Promise<number> {
  const own = actor.kind === 'user' && actor.loginId !== '' ? ne(logins.id, actor.loginId) : undefined;
  await tx.delete(loginCodes);
  const gone = await tx
    .delete(logins)
    .where(and(ne(logins.kind, 'token'), own))
    .returning({ id: logins.id });
  return gone.length;
}
