import { entitlements } from '@belay/db';
import type { Authorizer, EntitlementRef, Pin } from '@belay/providers';
import { eq } from 'drizzle-orm';
import { authorizerOf } from '../catalog/authorizer.js';
import { addressOf } from '../catalog/targets.js';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { Claimed } from './claimed.js';
import { entitlementKey } from './rows.js';

/** An entitlement that was claimed and needs no call: nothing is due for it unless it has no pin. */
export type Resting = Pick<Claimed, 'id' | 'provider' | 'identity' | 'access' | 'fence' | 'pin'> & { task: 'rest' };

/**
 * Returns an entitlement as its connector sees it: by its pin. A row of an older version has no pin: its names are
 * looked up and the pin is stored. Names that no longer exist are used unchanged, which is logged.
 */
export async function referTo(
  ctx: Store,
  authorizer: Authorizer,
  row: Omit<Resting, 'task'>,
  signal: AbortSignal,
): Promise<EntitlementRef> {
  const named = { id: row.id, identity: row.identity, access: row.access as EntitlementRef['access'] };
  if (row.pin) return { ...named, pin: row.pin };
  const pin = await authorizer.pin(named, signal);
  if (pin) {
    await storePin(ctx, row, pin);
    return { ...named, pin };
  }
  ctx.log.warn(
    { entitlement: row.id, provider: row.provider, identity: row.identity, access: row.access },
    'the provider no longer knows the names of access from an older version; its calls use these names',
  );
  return named;
}

/**
 * Pins a granted entitlement of an older version. When the provider cannot be read now, the row is pinned when it is
 * next due.
 */
export async function pinResting(ctx: Store, row: Resting): Promise<void> {
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  try {
    await referTo(ctx, authorizerOf(ctx, row.provider, 'observe'), row, signal);
  } catch (error) {
    ctx.log.warn(
      { entitlement: row.id, provider: row.provider, error },
      'access from an older version has no stored provider identifiers yet',
    );
  }
}

/**
 * Stores the pin of a row that has none, and gives the row the key of its pin unless another row has it. Does nothing
 * when the row was claimed again or pinned meanwhile.
 */
async function storePin(ctx: Store, row: Omit<Resting, 'task'>, pin: Pin): Promise<void> {
  const { id, provider, identity, access } = row;
  const { target, subject } = pin;
  const key = entitlementKey(ctx, provider, pin);
  await ctx.db.transaction(async (tx) => {
    const [locked] = await tx
      .select({ fence: entitlements.fence, target: entitlements.target })
      .from(entitlements)
      .where(eq(entitlements.id, id))
      .for('update');
    if (locked?.fence !== row.fence || locked.target !== null) return;
    const [taken] = await tx.select({ id: entitlements.id }).from(entitlements).where(eq(entitlements.key, key));
    await tx
      .update(entitlements)
      .set({
        target,
        subject,
        address: addressOf(ctx.catalog.current().providers.get(provider)),
        ...(taken ? {} : { key }),
      })
      .where(eq(entitlements.id, id));
    await appendLedger(tx, [
      {
        type: 'entitlement.pinned',
        message: `The access of ${identity} at ${provider} is from an older version; its provider identifiers are stored now`,
        actor: { kind: 'system', name: 'reconcile' },
        provider,
        entitlementId: id,
        data: { identity, access, target, subject },
      },
    ]);
  });
}
