import { entitlements } from '@belay/db';
import { and, eq, isNull } from 'drizzle-orm';
import type { Context } from '../context.js';
import type { Claimed } from './claimed.js';

/** Whether what came of a claim is recorded already: its fence is the latest, and its lease was given back. */
export async function isRecorded(ctx: Context, claim: Claimed): Promise<boolean> {
  const [row] = await ctx.db
    .select({ id: entitlements.id })
    .from(entitlements)
    .where(and(eq(entitlements.id, claim.id), eq(entitlements.fence, claim.fence), isNull(entitlements.leaseUntil)));
  return row !== undefined;
}
