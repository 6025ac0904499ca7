import { AccessError, notFound } from '@belay/contract/errors';
import { provisioningTokens } from '@belay/db';
import { eq } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';

/** Revokes the SCIM token of a directory at once (`belay scim revoke-token`). Throws `forbidden` or `not_found`. */
export async function revokeProvisioningToken(ctx: ActorStore, input: { id: string }): Promise<{ message: string }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators revoke tokens');
  if (!isId(input.id)) throw notFound('The token');
  return ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(provisioningTokens).where(eq(provisioningTokens.id, input.id)).returning();
    if (!gone) throw notFound('The token');
    const message = `The SCIM token of "${gone.provider}" is revoked`;
    await appendLedger(tx, [
      {
        type: 'provisioning.token_revoked',
        level: 'warning',
        message,
        actor,
        provider: gone.provider,
        data: { token_id: gone.id },
      },
    ]);
    return { message };
  });
}
