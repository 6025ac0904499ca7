import { AccessError, notFound } from '@belay/contract/errors';
import { logins, users } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';

/**
 * Ends one token that an operator created, by its id (`belay token revoke`): operators only, audited. Requests that
 * were made with it continue. Throws `forbidden` or `not_found`.
 */
export async function revokeToken(ctx: ActorStore, input: { id: string }): Promise<{ message: string; id: string }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators revoke tokens');
  if (!isId(input.id)) throw notFound('The token');
  return ctx.db.transaction(async (tx) => {
    const [gone] = await tx
      .delete(logins)
      .where(and(eq(logins.id, input.id), eq(logins.kind, 'token')))
      .returning();
    const [owner] = gone ? await tx.select().from(users).where(eq(users.id, gone.userId)) : [];
    if (!gone || !owner) throw notFound('The token');
    await appendLedger(tx, [
      {
        type: 'token.revoked',
        level: 'warning',
        message: `A token of ${owner.email} was revoked`,
        actor,
        userId: owner.id,
        data: { login_id: gone.id, kind: gone.kind, label: gone.label },
      },
    ]);
    return { message: `The token of ${owner.email} is revoked`, id: gone.id };
  });
}
