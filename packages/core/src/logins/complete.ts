import { AccessError, invalid } from '@belay/contract/errors';
import {
  deviceLogins,
  loginCodes,
  logins,
  logoutTokens,
  oauthFlows,
  programLogins,
  sessions,
  type Transaction,
} from '@belay/db';
import { and, eq, ne } from 'drizzle-orm';
import type { Context, Person, UserActor } from '../context.js';
import { readNow } from '../now.js';
import { claimIdentity, identityOf } from '../people/link.js';
import { openSession } from '../sessions/open.js';
import { createLogin } from './create.js';
import { authenticatorOf, exchangeAnswer, type Flow, openFlow, takeFlow } from './flow.js';
import { askForProgram } from './program.js';

export interface CompletedLogin {
  /** The secret of the browser's login. */
  token: string;
  expiresAt: Date;
  user: { id: string; email: string; name: string; groups: string[] };
  /** Where to return to; for a program, first the confirmation page. */
  callback: string | null;
}

export interface CompleteLogin {
  provider: string;
  currentUrl: URL;
  browserSecret: string;
  /** The person who is signed in in this browser now. */
  signedIn?: UserActor | undefined;
}

/**
 * Completes a login that returned from its provider, and opens a session with that provider. The flow must belong to
 * this browser, be unused and not have expired; the provider's response is fully verified; a person without a verified
 * e-mail address is rejected. A person who is already signed in stays signed in with their other providers under a new
 * secret. Throws `not_found`, `invalid`, `forbidden` or `unavailable`.
 */
export async function completeLogin(ctx: Context, input: CompleteLogin): Promise<CompletedLogin> {
  const { provider, currentUrl, browserSecret, signedIn } = input;
  authenticatorOf(ctx, provider);
  const state = currentUrl.searchParams.get('state') ?? '';
  const flow = await takeFlow(ctx, { provider, purpose: 'login', state, browserSecret });
  if (!flow) throw invalid('state', 'is unknown, already used or expired; sign in again');
  if (currentUrl.searchParams.has('error')) throw new AccessError('forbidden', 'The provider denied the sign-in');
  const now = await readNow(ctx.db);
  const { label = null, ...secrets } = await openFlow(ctx, flow, now);
  const proved = await exchangeAnswer(ctx, flow, currentUrl, secrets, now);
  const { tokens } = proved;
  // Linked only to the person who started this and is still signed in: a login that another person planted in this
  // browser meanwhile gains nothing.
  const linkTo = signedIn && flow.loginId === signedIn.loginId ? signedIn.id : null;
  return ctx.db.transaction(async (tx) => {
    await requireNotLoggedOut(tx, provider, tokens.sid);
    const user = await claimIdentity(ctx, tx, identityOf(ctx, provider, proved), linkTo);
    const { loginId, ...login } = await createLogin(ctx, { user, kind: 'browser', sid: tokens.sid }, tx);
    if (signedIn?.id === user.id) await continueLogin(tx, signedIn.loginId, loginId, provider);
    await openSession(ctx, tx, { user, loginId, kind: 'browser', tokens, now });
    const { id, name } = user;
    const callback = await callbackOf(ctx, tx, { flow, label, user, loginId, now });
    return { ...login, user: { id, email: user.email, name, groups: user.groups }, callback };
  });
}

/** Throws `forbidden` when the provider has ended this very sign-in while its response was on the way. */
async function requireNotLoggedOut(tx: Transaction, provider: string, sid: string | undefined): Promise<void> {
  if (sid === undefined) return;
  const [ended] = await tx
    .select({ sid: logoutTokens.sid })
    .from(logoutTokens)
    .where(and(eq(logoutTokens.provider, provider), eq(logoutTokens.sid, sid)))
    .limit(1);
  if (ended) throw new AccessError('forbidden', 'You were signed out at the provider; sign in again');
}

/** Moves the sessions with other providers, the pending flows and the codes of the old login to the new one, and deletes the old login. */
async function continueLogin(tx: Transaction, old: string, next: string, provider: string): Promise<void> {
  // Locks the login before its sessions, as a sign-out does: otherwise the two transactions could wait for each other.
  const [held] = await tx.select({ id: logins.id }).from(logins).where(eq(logins.id, old)).for('update');
  if (!held) return;
  await tx
    .update(sessions)
    .set({ loginId: next })
    .where(and(eq(sessions.loginId, old), ne(sessions.provider, provider)));
  await tx.update(oauthFlows).set({ loginId: next }).where(eq(oauthFlows.loginId, old));
  await tx.update(deviceLogins).set({ loginId: next }).where(eq(deviceLogins.loginId, old));
  await tx.update(programLogins).set({ loginId: next }).where(eq(programLogins.loginId, old));
  await tx.update(loginCodes).set({ loginId: next }).where(eq(loginCodes.loginId, old));
  await tx.delete(logins).where(and(eq(logins.id, old), eq(logins.kind, 'browser')));
}

/** Returns where the browser continues: for a program, first the confirmation page. */
async function callbackOf(
  ctx: Context,
  tx: Transaction,
  done: { flow: Flow; label: string | null; user: Person; loginId: string; now: Date },
): Promise<string | null> {
  const { flow, ...rest } = done;
  const { callback, codeChallenge, browserHash } = flow;
  if (callback === null || codeChallenge === null || browserHash === null) return callback;
  return (await askForProgram(ctx, tx, { ...rest, callback, codeChallenge, browserHash })).href;
}
