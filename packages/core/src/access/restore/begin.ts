import { restores } from '@belay/db';
import { sql } from 'drizzle-orm';
import { nameOf } from '../../actor.js';
import type { ActorStore } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { requireAdministrator } from '../../people/oversight.js';
import { requireReason } from '../revoke.js';

/**
 * Says that the database was restored to an earlier time: no grant is made until every provider was compared with its
 * rows and `openRestore` was called. Revocations go on. Repeating it begins again: every provider is compared anew.
 * Throws `forbidden` and `invalid`.
 */
export async function beginRestore(ctx: ActorStore, input: { reason: string }): Promise<{ epoch: number }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  return ctx.db.transaction(async (tx) => {
    const [begun] = await tx
      .insert(restores)
      .values({ epoch: 1, closedAt: sql`app_now()`, reason })
      .onConflictDoUpdate({
        target: restores.one,
        set: { epoch: sql`${restores.epoch} + 1`, closedAt: sql`app_now()`, reason },
      })
      .returning({ epoch: restores.epoch });
    if (!begun) throw new Error('The restore was not written');
    await appendLedger(tx, [
      {
        type: 'restore.begun',
        level: 'warning',
        message: `${nameOf(ctx.actor)} stopped all grants after a restore: ${reason}`,
        actor: ctx.actor,
        data: { reason, epoch: begun.epoch },
      },
    ]);
    return begun;
  });
}
