import { AccessError } from '@belay/contract/errors';
import { loginCodes, logins, restores, type Transaction } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { and, inArray, lte, ne, sql } from 'drizzle-orm';
import { nameOf } from '../../actor.js';
import type { ActorStore } from '../../context.js';
import { appendLedger } from '../../ledger/append.js';
import { requireAdministrator } from '../../people/oversight.js';
import { listSelves } from '../../people/selves.js';
import { forgetMarks } from '../history/memory.js';
import { requireReason } from '../revoke.js';
import { decideBegin } from './decide.js';
import { closeGate } from './gate.js';
import { noteCluster, readCluster } from './notice.js';

/** How long an administrator who began a restore cannot begin another one. */
const beginPause = '24 hours';

/**
 * Stops all grants because the database was restored to an earlier time, until every provider was compared with its rows
 * and `openRestore` was called. Revocations continue. Every login from before ends, except tokens and the caller's login. An
 * operator who repeats the call has every provider compared anew. An administrator can begin once in 24 hours: a repeated call
 * continues the restore that has begun, and throws `conflict` when it is over. Throws `forbidden` and `invalid`.
 */
export async function beginRestore(ctx: ActorStore, input: { reason: string }): Promise<{ epoch: number }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const cluster = await readCluster(ctx);
  const { actor } = ctx;
  const selves = actor.kind === 'user' ? [actor.id, ...(await listSelves(ctx.db, actor.id)).map(({ id }) => id)] : [];
  const epoch = await ctx.db.transaction(async (tx) => {
    const { epoch: known, ...facts } = await readBegun(tx, selves);
    const decision = decideBegin(facts, actor.kind === 'operator' ? 'operator' : 'administrator');
    if (decision === 'reject')
      throw new AccessError(
        'conflict',
        'You began a restore in the last 24 hours: another administrator begins the next one, or an operator by `belay restore begin`',
      );
    if (decision === 'join') return known;
    if (cluster) await noteCluster(tx, cluster);
    await forgetMarks(tx);
    const closed = await closeGate(tx, {
      reason,
      noticed: false,
      ...(actor.kind === 'user' ? { by: actor.id } : {}),
    });
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

/** Reads, and locks until the transaction ends, whether grants wait and whether the person began a restore lately. */
async function readBegun(tx: Transaction, selves: string[]) {
  const begunLately =
    selves.length === 0
      ? sql<boolean>`false`
      : sql<boolean>`exists (select from jsonb_each_text(${restores.begunBy}) as one (who, at)
          where one.who in ${selves} and one.at::timestamptz > app_now() - ${beginPause}::interval)`;
  const [row] = await tx
    .select({ epoch: restores.epoch, closed: sql<boolean>`${restores.closedAt} is not null`, begunLately })
    .from(restores)
    .for('update');
  return row ?? { epoch: 0, closed: false, begunLately: false };
}

/** How many logins one transaction ends. */
const slice = 1_000;

/**
 * Ends one slice of logins, because the restore brought back logins that had ended since the backup: of people who signed
 * out, were stopped or have left. Tokens stay, because programs cannot get new ones by themselves. Returns how many ended.
 */
async function endLogins(ctx: ActorStore): Promise<number> {
  const { actor } = ctx;
  const closedAt = sql`(select ${restores.closedAt} from ${restores})`;
  const own = actor.kind === 'user' && actor.loginId !== '' ? ne(logins.id, actor.loginId) : undefined;
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      await tx.delete(loginCodes);
      const some = tx
        .select({ id: logins.id })
        .from(logins)
        // A login of later was not brought back.
        .where(and(ne(logins.kind, 'token'), own, lte(logins.createdAt, closedAt)))
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
