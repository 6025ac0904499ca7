import { loginCodes, logins } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { and, inArray, ne } from 'drizzle-orm';
import { nameOf } from '../../actor.js';
import type { ActorStore } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { requireAdministrator } from '../../people/oversight.js';
import { requireReason } from '../revoke.js';
import { closeGate } from './gate.js';
import { noteCluster, readCluster } from './notice.js';

/**
 * Stops all grants because the database was restored to an earlier time, until every provider was compared with its rows
 * and `openRestore` was called. Revocations continue. Every login ends, except tokens and the caller's login. A
 * repeated call starts again: every provider is compared anew. Throws `forbidden` and `invalid`.
 */
export async function beginRestore(ctx: ActorStore, input: { reason: string }): Promise<{ epoch: number }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const cluster = await readCluster(ctx);
  const epoch = await ctx.db.transaction(async (tx) => {
    if (cluster) await noteCluster(tx, cluster);
    const closed = await closeGate(tx, { reason, noticed: false });
    await appendLedger(tx, [
      {
        type: 'restore.begun',
        level: 'warning',
        message: `${nameOf(ctx.actor)} stopped all grants after a restore: ${reason}`,
        actor: ctx.actor,
        data: { reason, epoch: closed },
      },
    ]);
    return closed;
  });
  // After the gate is closed, and in slices, so that no statement takes long. A repeated call ends the logins that are left.
  while ((await endLogins(ctx)) === slice);
  return { epoch };
}

/** How many logins one transaction ends. */
const slice = 1_000;

/**
 * Ends one slice of logins, because the restore brought back logins that had ended since the backup: of people who signed
 * out, were stopped or have left. Tokens stay, because programs cannot get new ones by themselves. Returns how many ended.
 */
async function endLogins(ctx: ActorStore): Promise<number> {
  const { actor } = ctx;
  const own = actor.kind === 'user' && actor.loginId !== '' ? ne(logins.id, actor.loginId) : undefined;
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      await tx.delete(loginCodes);
      const some = tx
        .select({ id: logins.id })
        .from(logins)
        .where(and(ne(logins.kind, 'token'), own))
        .orderBy(logins.id)
        .limit(slice)
        .for('update');
      const { length } = await tx.delete(logins).where(inArray(logins.id, some)).returning({ id: logins.id });
      const message = `${nameOf(actor)} ended ${length} logins after a restore`;
      if (length > 0)
        await appendLedger(tx, [{ type: 'login.ended', level: 'warning', message, actor, data: { logins: length } }]);
      return length;
    }),
  );
}
