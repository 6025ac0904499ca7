import { AccessError, notFound } from '@belay/contract/errors';
import { entitlements, grants } from '@belay/db';
import { and, eq, isNotNull, isNull, ne, sql } from 'drizzle-orm';
import { nameOf } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { tellingJoins } from '../people/joins.js';
import { requireAdministrator } from '../people/oversight.js';
import { jobsOf } from './end.js';
import { refuseOwn } from './restore/answer.js';
import { requireReason } from './revoke.js';

/**
 * Accepts that access stays at a provider that a revocation left because it can be another's (POST /admin/overdue/{id}/accept):
 * administrators and operators only, audited. The revocation is made again, and counts as verified only when the provider still has
 * exactly what was accepted. `left` is what the caller saw. Throws `forbidden`, also for access of one's
 * own, `invalid` for the reason, `not_found` when nothing waits for this, and `conflict` when something else is left now.
 */
export async function acceptLeft(
  ctx: ActorStore,
  input: { id: string; left: string; reason: string },
): Promise<{ status: 'ok'; message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const { id } = input;
  if (!isId(id)) throw notFound('The revocation');
  await tellingJoins(ctx, () => refuseHolder(ctx, id));
  const provider = await ctx.db.transaction(async (tx) => {
    const waits = and(eq(entitlements.id, id), ne(entitlements.state, 'absent'), isNotNull(entitlements.leftToOthers));
    const [row] = await tx.select().from(entitlements).where(waits).for('update');
    if (!row) throw notFound('Access that a revocation left');
    const { leftToOthers: left, provider, identity } = row;
    if (input.left !== left)
      throw new AccessError('conflict', 'What is left at the provider has changed since you read it: look at it again');
    await tx
      .update(entitlements)
      .set({ accepted: left, dueAt: sql`least(${entitlements.dueAt}, app_now())` })
      .where(eq(entitlements.id, id));
    await appendLedger(tx, [
      {
        type: 'revocation.accepted',
        level: 'warning',
        message: `${nameOf(ctx.actor)} accepted what a revocation of ${identity} left at ${provider}: ${reason}`,
        actor: ctx.actor,
        provider,
        entitlementId: id,
        data: { reason, left },
      },
    ]);
    return provider;
  });
  ctx.waker.wake(jobsOf([{ id, provider }]));
  return { status: 'ok', message: `What is left at ${provider} stays, if it is still the same at the next attempt` };
}

/** Throws `forbidden` when the caller requested the access, or it is that of their own account. */
async function refuseHolder(ctx: ActorStore, id: string): Promise<void> {
  const rows = await ctx.db
    .select({ provider: entitlements.provider, names: entitlements.names, userId: grants.userId })
    .from(entitlements)
    .leftJoin(grants, and(eq(grants.entitlementId, entitlements.id), isNull(grants.goneAt)))
    .where(eq(entitlements.id, id));
  const [found] = rows;
  if (!found) return;
  const owners = rows.flatMap(({ userId }) => userId ?? []);
  const identities = new Set(found.names.map(({ identity }) => identity));
  for (const identity of identities) await refuseOwn(ctx, { provider: found.provider, identity, owners });
}
