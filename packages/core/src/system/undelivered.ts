import { disabledChannels, messages } from '@belay/db';
import { count, eq, sql } from 'drizzle-orm';
import type { Store } from '../context.js';

/** Returns how many messages were given up in the last 24 hours. */
export async function countUndelivered(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(messages)
    .where(sql`${messages.failedAt} > app_now() - ${`${ctx.timing.messages.patience} milliseconds`}::interval`);
  return row?.count ?? 0;
}

/** Returns how many channels are sent nothing, because their receiver wanted no more. */
export async function countDisabledChannels(ctx: Store): Promise<number> {
  const [row] = await ctx.db
    .select({ count: count() })
    .from(disabledChannels)
    .where(eq(disabledChannels.catalogVersion, ctx.catalog.current().version));
  return row?.count ?? 0;
}
