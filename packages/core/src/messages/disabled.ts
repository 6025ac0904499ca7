import { disabledChannels } from '@belay/db';
import { eq, ne, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';

/** Returns the channels that wanted no more messages in the configuration in force. */
export async function readDisabled(ctx: Store): Promise<ReadonlySet<string>> {
  const rows = await ctx.db
    .select({ provider: disabledChannels.provider })
    .from(disabledChannels)
    .where(eq(disabledChannels.catalogVersion, ctx.catalog.current().version));
  return new Set(rows.map(({ provider }) => provider));
}

/** Sends no more messages there until the configuration changes, and says so once. */
export async function disableChannel(ctx: Store, provider: string, reason: string): Promise<void> {
  const catalogVersion = ctx.catalog.current().version;
  await ctx.db.transaction(async (tx) => {
    const [disabled] = await tx
      .insert(disabledChannels)
      .values({ provider, catalogVersion, reason })
      .onConflictDoUpdate({
        target: disabledChannels.provider,
        set: { catalogVersion, reason, disabledAt: sql`app_now()` },
        setWhere: ne(disabledChannels.catalogVersion, catalogVersion),
      })
      .returning();
    if (!disabled) return;
    await appendLedger(tx, [
      {
        type: 'channel.disabled',
        level: 'error',
        message: `${provider} is sent no more messages until the configuration changes: ${reason}`,
        actor: { kind: 'system', name: 'messages' },
        provider,
      },
    ]);
  });
}
