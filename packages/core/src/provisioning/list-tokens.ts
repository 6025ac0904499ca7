import { AccessError } from '@belay/contract/errors';
import { provisioningTokens } from '@belay/db';
import { asc, gt, sql } from 'drizzle-orm';
import type { ActorStore } from '../context.js';

/** Returns the valid SCIM tokens of all directories, without their secrets. Throws `forbidden`. */
export async function listProvisioningTokens(
  ctx: ActorStore,
): Promise<{ id: string; provider: string; created_at: string; expires_at: string }[]> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators list tokens');
  const rows = await ctx.db
    .select()
    .from(provisioningTokens)
    .where(gt(provisioningTokens.expiresAt, sql`app_now()`))
    .orderBy(asc(provisioningTokens.provider), asc(provisioningTokens.createdAt));
  return rows.map(({ id, provider, createdAt, expiresAt }) => ({
    id,
    provider,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }));
}
