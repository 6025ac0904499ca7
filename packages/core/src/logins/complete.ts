import { deviceLogins, loginCodes, logins, oauthFlows, sessions, type Transaction } from '@belay/db';
import type { ProviderTokens } from '@belay/providers';
import { and, eq, ne } from 'drizzle-orm';
import { hashSecret } from '../canonical.js';
import type { Context, UserActor } from '../context.js';
import { AccessError, invalid } from '../errors.js';
import { readNow } from '../now.js';
import { openSession } from '../sessions/open.js';
import { sealTokens } from '../sessions/seal-tokens.js';
import { createLogin } from './create.js';
import { authenticatorOf, exchangeAnswer, type Flow, openFlow, takeFlow } from './flow.js';
import { claimIdentity } from './link.js';
import type { Person } from './people.js';

export interface CompletedLogin {
  /** The secret of the browser's login. */
  token: string;
  expiresAt: Date;
  user: { id: string; email: string; name: string; groups: string[] };
  /** Where to return to, with the code in it when a program asked for one. */
  callback: string | null;
}

export interface CompleteLogin {
  provider: string;
  currentUrl: URL;
  browserSecret: string;
  /** Who is signed in in this browser now. */
  signedIn?: UserActor | undefined;
}

/**
 * Completes a login that came back from its provider, with its session there. The flow must be this browser's, unused and
 * in time; the provider's answer is verified whole; a person without a verified e-mail is refused. Whoever is signed in
 * already, and is the same person, stays signed in with their other providers under a new secret. Throws `invalid` or
 * `forbidden`.
 */
export async function completeLogin(ctx: Context, input: CompleteLogin): Promise<CompletedLogin> {
  const { provider, currentUrl, browserSecret, signedIn } = input;
  authenticatorOf(ctx, provider);
  const state = currentUrl.searchParams.get('state') ?? '';
  const flow = await takeFlow(ctx, { provider, purpose: 'login', state, browserSecret });
  if (!flow) throw invalid('state', 'is unknown, used or too old; sign in again');
  if (currentUrl.searchParams.has('error')) throw new AccessError('forbidden', 'The provider refused to sign you in');
  const now = await readNow(ctx.db);
  const proved = await exchangeAnswer(ctx, flow, currentUrl, await openFlow(ctx, flow, now), now);
  const { subject, email, groups, tokens } = proved;
  // Linked only to whoever began this and is still there: a login that was planted in between gains nothing.
  const linkTo = signedIn && flow.loginId === signedIn.loginId ? signedIn.id : null;
  return ctx.db.transaction(async (tx) => {
    const user = await claimIdentity(ctx, tx, { provider, subject, email, name: proved.name || email, groups }, linkTo);
    const { loginId, ...login } = await createLogin(ctx, { user, kind: 'browser' }, tx);
    if (signedIn?.id === user.id) await continueLogin(tx, signedIn.loginId, loginId, provider);
    // One refresh token, one holder: a program that is to have it does not share it with the browser.
    const { refreshToken: _kept, ...shared } = tokens;
    const program = flow.codeChallenge !== null;
    await openSession(ctx, tx, { user, loginId, tokens: program ? shared : tokens, now });
    const { id, name } = user;
    const callback = await callbackOf(ctx, tx, { flow, user, tokens, now });
    return { ...login, user: { id, email: user.email, name, groups: user.groups }, callback };
  });
}

/** The new login takes the place of the old one: its other sessions, what is under way in it, and its life. */
async function continueLogin(tx: Transaction, old: string, next: string, provider: string): Promise<void> {
  // The login before its sessions, as signing out takes them: else the two could wait for each other.
  const [held] = await tx.select({ id: logins.id }).from(logins).where(eq(logins.id, old)).for('update');
  if (!held) return;
  await tx
    .update(sessions)
    .set({ loginId: next })
    .where(and(eq(sessions.loginId, old), ne(sessions.provider, provider)));
  await tx.update(oauthFlows).set({ loginId: next }).where(eq(oauthFlows.loginId, old));
  await tx.update(deviceLogins).set({ loginId: next }).where(eq(deviceLogins.loginId, old));
  await tx.delete(logins).where(and(eq(logins.id, old), eq(logins.kind, 'browser')));
}

async function callbackOf(
  ctx: Context,
  tx: Transaction,
  done: { flow: Flow; user: Person; tokens: ProviderTokens; now: Date },
): Promise<string | null> {
  const { flow, user, tokens, now } = done;
  if (flow.callback === null || flow.codeChallenge === null) return flow.callback;
  const code = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  await tx.insert(loginCodes).values({
    codeHash: hashSecret(code),
    userId: user.id,
    provider: user.provider,
    subject: user.subject,
    codeChallenge: flow.codeChallenge,
    sealed: await sealTokens(ctx, tokens, { now, lifetime: ctx.timing.loginCode }),
    expiresAt: new Date(now.getTime() + ctx.timing.loginCode),
  });
  const url = new URL(flow.callback);
  url.searchParams.set('code', code);
  return url.href;
}
