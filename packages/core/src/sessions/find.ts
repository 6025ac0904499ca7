import type { SessionList } from '@belay/contract/sessions';
import { logins, sessions, userIdentities } from '@belay/db';
import { and, desc, eq, gt, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import { versionText } from '../configuration/compile.js';
import type { ActorStore, Store, UserActor } from '../context.js';
import { readNow } from '../now.js';
import { unmetCondition } from '../people/admission.js';

/**
 * Returns the caller's active sessions by provider (GET /sessions). Never the tokens: in server mode these are
 * never returned.
 */
export async function listSessions(ctx: ActorStore): Promise<SessionList> {
  const user = requireUser(ctx);
  const [now, active] = await Promise.all([readNow(ctx.db), findSessions(ctx, user)]);
  const found = new Map<string, { version: number; expiry: string }>();
  for (const { provider, version, expiresAt } of active) {
    if (!found.has(provider)) found.set(provider, { version, expiry: expiresAt.toISOString() });
  }
  return {
    version: versionText(ctx.catalog.current().version),
    timestamp: now.toISOString(),
    sessions: Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

export interface ActiveSession {
  loginId: string;
  provider: string;
  subject: string;
  version: number;
  expiresAt: Date;
}

/**
 * Returns a person's active sessions: not ended, of a login that has not ended, with a provider that still lets them
 * sign in. Those of the caller's own login come first, then those that last longest.
 */
export async function findSessions(
  ctx: Store,
  user: Pick<UserActor, 'id' | 'loginId'>,
  only: { loginId?: string | undefined; provider?: string | undefined } = {},
): Promise<ActiveSession[]> {
  const rows = await ctx.db
    .select({
      loginId: sessions.loginId,
      provider: sessions.provider,
      subject: sessions.subject,
      version: sessions.version,
      expiresAt: sql`least(${sessions.expiresAt}, ${logins.expiresAt})`.mapWith(sessions.expiresAt),
      identity: userIdentities,
    })
    .from(sessions)
    .innerJoin(logins, eq(logins.id, sessions.loginId))
    .leftJoin(
      userIdentities,
      and(eq(userIdentities.provider, sessions.provider), eq(userIdentities.subject, sessions.subject)),
    )
    .where(
      and(
        eq(sessions.userId, user.id),
        eq(logins.userId, user.id),
        gt(sessions.expiresAt, sql`app_now()`),
        gt(logins.expiresAt, sql`app_now()`),
        only.loginId === undefined ? undefined : eq(sessions.loginId, only.loginId),
        only.provider === undefined ? undefined : eq(sessions.provider, only.provider),
      ),
    )
    .orderBy(desc(eq(sessions.loginId, user.loginId)), desc(sessions.expiresAt));
  const catalog = ctx.catalog.current();
  return rows
    .filter(({ provider }) => catalog.authenticators.includes(provider))
    .filter(({ identity }) => identity !== null && unmetCondition(catalog, identity) === undefined)
    .map(({ identity: _told, ...session }) => session);
}
