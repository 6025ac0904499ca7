import { nameOf } from '../../actor.js';
import type { ActorStore } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { requireAdministrator } from '../../people/oversight.js';
import { requireReason } from '../revoke.js';
import { closeGate } from './gate.js';
import { noteCluster, readCluster } from './notice.js';

/**
 * Says that the database was restored to an earlier time: no grant is made until every provider was compared with its
 * rows and `openRestore` was called. Revocations go on. Repeating it begins again: every provider is compared anew.
 * Throws `forbidden` and `invalid`.
 */
export async function beginRestore(ctx: ActorStore, input: { reason: string }): Promise<{ epoch: number }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const cluster = await readCluster(ctx);
  return ctx.db.transaction(async (tx) => {
    if (cluster) await noteCluster(tx, cluster);
    const epoch = await closeGate(tx, { reason, noticed: false });
    await appendLedger(tx, [
      {
        type: 'restore.begun',
        level: 'warning',
        message: `${nameOf(ctx.actor)} stopped all grants after a restore: ${reason}`,
        actor: ctx.actor,
        data: { reason, epoch },
      },
    ]);
    return { epoch };
  });
}
