import type { SessionList } from '@belay/contract/sessions';
import { requireUser } from '../actor.js';
import { versionText } from '../configuration/compile.js';
import type { ActorStore } from '../context.js';
import { readNow } from '../now.js';
import { findSessions } from './find.js';

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
