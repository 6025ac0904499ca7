import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';

/**
 * Raises the alarm for a change of a person that a directory sent and that could not be read: it may have been a
 * deactivation. Call it outside of the transaction that was rolled back.
 */
export async function reportRefused(
  ctx: Store,
  input: { provider: string; id: string; requestId: string; because: string },
): Promise<void> {
  const { provider, id, requestId, because } = input;
  ctx.log.error({ provider, provisioned: id, requestId, because }, 'a SCIM change of a person was rejected');
  await appendLedger(ctx.db, [
    {
      type: 'provisioning.rejected',
      level: 'error',
      message: `A change of a person by "${provider}" was rejected; it may have been a deactivation`,
      actor: { kind: 'system', name: 'provisioning' },
      provider,
      data: { provisioned_id: id, request_id: requestId, because },
    },
  ]);
}
