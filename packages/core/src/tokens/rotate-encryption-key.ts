import { AccessError } from '@belay/contract/errors';
import { encryptionKeys } from '@belay/db';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import type { KeyWrapping } from './data-key.js';
import { makeDataKey } from './data-key.js';

const patience = 15_000;

/**
 * Creates a new data key and retires the current one (`belay encryption rotate`): operators only, audited. Running processes seal
 * with the new key within half a minute, and open what it sealed immediately. What an older key sealed can be opened until it
 * expires. Throws `forbidden`, and `unavailable` when the service cannot wrap the key.
 */
export async function rotateEncryptionKey(
  ctx: ActorStore,
  input: { wrapping: KeyWrapping },
): Promise<{ kid: string; retired: string | undefined; created_at: string }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can rotate keys');
  const made = await makeDataKey(input.wrapping, ctx.randomBytes, AbortSignal.timeout(patience)).catch(
    (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : 'it does not respond';
      throw new AccessError('unavailable', `No new key could be created: ${reason}`, { cause });
    },
  );
  return ctx.db.transaction(async (tx) => {
    // One rotation after the other: each retires the key of the previous one.
    await tx.execute(sql`lock table ${encryptionKeys} in share row exclusive mode`);
    const [before] = await tx
      .update(encryptionKeys)
      .set({ retiredAt: sql`app_now()` })
      .where(and(eq(encryptionKeys.service, made.service), isNull(encryptionKeys.retiredAt)))
      .returning({ kid: encryptionKeys.kid });
    const [row] = await tx.insert(encryptionKeys).values(made).returning();
    if (!row) throw new Error('A key could not be stored');
    await appendLedger(tx, [
      {
        type: 'encryption.rotated',
        level: 'warning',
        message: 'The sealing key was rotated',
        actor,
        data: { kid: row.kid, ...(before && { retired: before.kid }), service: row.service },
      },
    ]);
    return { kid: row.kid, retired: before?.kid, created_at: row.createdAt.toISOString() };
  });
}
