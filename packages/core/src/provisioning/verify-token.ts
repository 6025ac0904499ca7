import { hashSecret } from '@belay/contract/canonical';
import { AccessError } from '@belay/contract/errors';
import { provisioningTokens } from '@belay/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { tokenForm } from './create-token.js';

/**
 * Returns the provider whose people and groups the bearer of a SCIM token may provision; null when the token is
 * unknown, revoked or expired, without a difference. Throws `forbidden` when the configuration does not let the
 * provider's directory do so.
 */
export async function verifyProvisioningToken(ctx: Store, input: { token: string }): Promise<string | null> {
  if (!tokenForm.test(input.token)) return null;
  const [found] = await ctx.db
    .select({ provider: provisioningTokens.provider })
    .from(provisioningTokens)
    .where(
      and(eq(provisioningTokens.secretHash, hashSecret(input.token)), gt(provisioningTokens.expiresAt, sql`app_now()`)),
    );
  if (!found) return null;
  const { authenticators, providers } = ctx.catalog.current();
  if (!authenticators.includes(found.provider) || !providers.get(found.provider)?.definition.scim) {
    throw new AccessError('forbidden', `The configuration does not let "${found.provider}" provision people`);
  }
  return found.provider;
}
