import { hashSecret } from '@belay/contract/canonical';
import { programLogins } from '@belay/db';
import { and, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { UserActor } from '../../context.js';

/** The key of a program's sign-in: its own secret, and that of the browser in which it was started. */
export interface NamedProgramLogin {
  request: string;
  browserSecret: string | undefined;
}

/**
 * Matches a waiting sign-in that is in time, and was started in this browser and this login; undefined without a
 * browser.
 */
export function waitingIn(user: UserActor, { request, browserSecret }: NamedProgramLogin): SQL | undefined {
  if (browserSecret === undefined) return undefined;
  return and(
    eq(programLogins.requestHash, hashSecret(request)),
    eq(programLogins.loginId, user.loginId),
    eq(programLogins.browserHash, hashSecret(browserSecret)),
    gt(programLogins.expiresAt, sql`app_now()`),
  );
}
