import { AccessError } from '@belay/contract/errors';
import { logins, type Transaction } from '@belay/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import type { Context, UserActor } from '../context.js';
import { readNow } from '../now.js';
import { findOwner, identityOf } from '../people/link.js';
import { openSession } from '../sessions/open.js';
import { exchangeAnswer, openFlow, takeFlow } from './flow.js';

export interface CompleteSession {
  provider: string;
  currentUrl: URL;
  browserSecret: string | undefined;
  /** The person who is signed in in this browser now. */
  signedIn?: UserActor | undefined;
}

/**
 * Completes what `authorizeSession` started: opens the session of the login that requested it, and only for the person
 * of that login. Creates no login. Returns where to continue, with the client's own state; null when the response
 * belongs to no such flow. Throws `unavailable`, and `forbidden` when the response is not valid, the provider proved
 * another person, or the login has ended meanwhile.
 */
export async function completeSession(ctx: Context, input: CompleteSession): Promise<{ callback: string } | null> {
  const { provider, currentUrl, browserSecret, signedIn } = input;
  const state = currentUrl.searchParams.get('state') ?? '';
  const flow = await takeFlow(ctx, { provider, purpose: 'session', state, browserSecret });
  if (!flow || flow.callback === null || flow.loginId === null) return null;
  const { callback, loginId } = flow;
  const now = await readNow(ctx.db);
  const { clientState = '', ...secrets } = await openFlow(ctx, flow, now);
  const answer = (more: Record<string, string>) => {
    const url = new URL(callback);
    for (const [name, value] of Object.entries({ ...more, state: clientState })) url.searchParams.set(name, value);
    return { callback: url.href };
  };
  if (currentUrl.searchParams.has('error')) return answer({ error: 'access_denied' });
  const answered = await exchangeAnswer(ctx, flow, currentUrl, secrets, now);
  const { tokens } = answered;
  // Identities are linked only in the browser that started the flow. A person who opens a link of another person proves
  // their identity here, but it is not linked to that other person.
  const mayLink = flow.browserHash !== null && signedIn?.loginId === loginId;
  await ctx.db.transaction(async (tx) => {
    const { userId, kind } = await lockLogin(tx, loginId);
    const proved = identityOf(ctx, provider, answered);
    const user = await findOwner(ctx, tx, proved, mayLink ? userId : null);
    if (user?.id !== userId) {
      throw new AccessError('forbidden', `You signed in with "${provider}" as another person, or for the first time`);
    }
    await openSession(ctx, tx, { user, loginId, kind, tokens, now });
  });
  return answer({});
}

/** Returns the person of a login that has not ended, and locks the login until its session exists. */
async function lockLogin(tx: Transaction, loginId: string): Promise<{ userId: string; kind: string }> {
  const [login] = await tx
    .select({ userId: logins.userId, kind: logins.kind })
    .from(logins)
    .where(and(eq(logins.id, loginId), gt(logins.expiresAt, sql`app_now()`)))
    .for('update');
  if (!login) throw new AccessError('forbidden', 'The login that started this has ended; sign in again');
  return login;
}
