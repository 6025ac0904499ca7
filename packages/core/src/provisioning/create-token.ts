import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { provisioningTokens } from '@belay/db';
import { and, count, eq, gt, sql } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { requireDuration } from '../duration.js';
import { appendLedger } from '../ledger/append.js';

const longest = 366 * 24 * 60 * 60_000;
/** The one in use and its successor. */
const most = 2;

/** A different form than the secrets of logins and agents, so that none is ever looked up as another. */
export const tokenForm = /^belay-scim\.[A-Za-z0-9_-]{43}$/;

/**
 * Creates the bearer token with which the directory of a provider provisions people by SCIM (`belay scim create-token`):
 * operators only, audited, with a fixed end; shown once and stored as a hash. A provider has two at most, so that one
 * can replace the other without a gap. Throws `conflict` for a third.
 */
export async function createProvisioningToken(
  ctx: ActorStore,
  input: { provider: string; ttl: string },
): Promise<{ token: string; id: string; provider: string; expires_at: string }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators create tokens');
  const { provider } = input;
  const ttl = requireDuration(input.ttl, 'ttl');
  if (ttl > longest) throw invalid('ttl', 'is longer than one year');
  const configured = ctx.catalog.current().providers.get(provider);
  if (!configured?.definition.scim) {
    throw invalid('provider', 'has no scim setting; add scim: {} to the provider in the configuration first');
  }
  const token = `belay-scim.${Buffer.from(ctx.randomBytes(32)).toString('base64url')}`;
  return ctx.db.transaction(async (tx) => {
    // Two that are created at once count each other.
    await tx.execute(sql`lock table ${provisioningTokens} in share row exclusive mode`);
    const [valid] = await tx
      .select({ count: count() })
      .from(provisioningTokens)
      .where(and(eq(provisioningTokens.provider, provider), gt(provisioningTokens.expiresAt, sql`app_now()`)));
    if ((valid?.count ?? 0) >= most) {
      throw new AccessError('conflict', `"${provider}" has ${most} valid SCIM tokens; revoke one first`);
    }
    const [made] = await tx
      .insert(provisioningTokens)
      .values({
        id: ctx.newId(),
        provider,
        secretHash: hashSecret(token),
        expiresAt: sql`app_now() + ${`${ttl} milliseconds`}::interval`,
      })
      .returning();
    if (!made) throw new Error('A token could not be stored');
    const expires_at = made.expiresAt.toISOString();
    await appendLedger(tx, [
      {
        type: 'provisioning.token_created',
        level: 'warning',
        message: `A SCIM token was created for "${provider}"`,
        actor,
        provider,
        data: { token_id: made.id, expires_at },
      },
    ]);
    return { token, id: made.id, provider, expires_at };
  });
}
