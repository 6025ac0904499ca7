import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { provisioningTokens } from '@belay/db';
import { and, asc, count, eq, gt, sql } from 'drizzle-orm';
import type { ActorStore, Store } from '../context.js';
import { requireDuration } from '../duration.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { timing } from '../timing.js';

/** How many valid tokens a provider may have: the current one and its successor. */
const most = 2;

/** A different form than the secrets of logins and agents, so that none is ever looked up as another. */
const tokenForm = /^belay-scim\.[A-Za-z0-9_-]{43}$/;

/**
 * Creates the bearer token with which the directory of a provider provisions people by SCIM (`belay scim create-token`): operators
 * only, audited. The token is shown once, stored as a hash, and expires. A provider has two at most, so that one can replace the
 * other without a gap. Throws `forbidden`, `invalid`, and `conflict` for a third token.
 */
export async function createProvisioningToken(
  ctx: ActorStore,
  input: { provider: string; ttl: string },
): Promise<{ token: string; id: string; provider: string; expires_at: string }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can create tokens');
  const { provider } = input;
  const ttl = requireDuration(input.ttl, 'ttl');
  if (ttl > timing.year) throw invalid('ttl', 'is longer than one year');
  const configured = ctx.catalog.current().providers.get(provider);
  if (!configured?.definition.scim) {
    throw invalid('provider', 'has no scim setting; add scim: {} to the provider in the configuration first');
  }
  const token = `belay-scim.${Buffer.from(ctx.randomBytes(32)).toString('base64url')}`;
  return ctx.db.transaction(async (tx) => {
    // Without the lock, two tokens that are created at the same time would not count each other.
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

/** Returns the valid SCIM tokens of all directories, without their secrets. Throws `forbidden`. */
export async function listProvisioningTokens(
  ctx: ActorStore,
): Promise<{ id: string; provider: string; created_at: string; expires_at: string }[]> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can list tokens');
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

/** Revokes a SCIM token of a directory at once (`belay scim revoke-token`). Throws `forbidden` or `not_found`. */
export async function revokeProvisioningToken(ctx: ActorStore, input: { id: string }): Promise<{ message: string }> {
  const { actor } = ctx;
  if (actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can revoke tokens');
  if (!isId(input.id)) throw notFound('The token');
  return ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(provisioningTokens).where(eq(provisioningTokens.id, input.id)).returning();
    if (!gone) throw notFound('The token');
    const message = `The SCIM token of "${gone.provider}" is revoked`;
    await appendLedger(tx, [
      {
        type: 'provisioning.token_revoked',
        level: 'warning',
        message,
        actor,
        provider: gone.provider,
        data: { token_id: gone.id },
      },
    ]);
    return { message };
  });
}

/**
 * Returns the provider whose people and groups the bearer of a SCIM token may provision; null when the token is unknown, revoked or
 * expired, so a caller cannot tell which. Throws `forbidden` when the configuration does not let the provider provision people.
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
