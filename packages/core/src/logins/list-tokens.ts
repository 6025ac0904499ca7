import { AccessError } from '@belay/contract/errors';
import { logins, userIdentities, users } from '@belay/db';
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { isKnownAs } from '../people/known.js';
import { requireText } from '../text.js';

export interface ListedToken {
  id: string;
  user: { email: string; name: string };
  label: string | null;
  created_at: string;
  expires_at: string;
}

/**
 * Returns the tokens that operators created and that are still valid, the first to expire first (`belay token list`);
 * never a secret, which is not stored. Operators only. Throws `forbidden`.
 */
export async function listTokens(ctx: ActorStore, input: { user?: string | undefined }): Promise<ListedToken[]> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can list tokens');
  const theirs =
    input.user === undefined
      ? undefined
      : isKnownAs(ctx.db, logins.userId, requireText(input.user.trim(), 'user', 320));
  const rows = await ctx.db
    .select({
      id: logins.id,
      email: sql<string>`coalesce(${userIdentities.email}, ${users.email})`,
      name: sql<string>`coalesce(${userIdentities.name}, ${users.name})`,
      label: logins.label,
      createdAt: logins.createdAt,
      expiresAt: logins.expiresAt,
    })
    .from(logins)
    .innerJoin(users, eq(users.id, logins.userId))
    .leftJoin(
      userIdentities,
      and(eq(userIdentities.provider, logins.provider), eq(userIdentities.subject, logins.subject)),
    )
    .where(and(eq(logins.kind, 'token'), gt(logins.expiresAt, sql`app_now()`), theirs))
    .orderBy(asc(logins.expiresAt), asc(logins.id));
  return rows.map(({ id, email, name, label, createdAt, expiresAt }) => ({
    id,
    user: { email, name },
    label,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }));
}
