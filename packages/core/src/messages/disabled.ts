import { disabledChannels } from '@belay/db';
import { eq, ne, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';

/** Returns the channels that have been disabled since the configuration in force was applied. */
export async function readDisabled(ctx: Store): Promise<ReadonlySet<string>> {
  const rows = await ctx.db
    .select({ provider: disabledChannels.provider })
    .from(disabledChannels)
    .where(eq(disabledChannels.catalogVersion, ctx.catalog.current().version));
  return new Set(rows.map(({ provider }) => provider));
}

/** Disables a channel until the configuration changes, and records that once in the ledger. */
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
