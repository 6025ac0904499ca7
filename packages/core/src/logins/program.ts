import type { ShownProgramLogin } from '@belay/contract/auth';
import { hashSecret } from '@belay/contract/canonical';
import { AccessError, notFound } from '@belay/contract/errors';
import type { Verdict } from '@belay/contract/fields';
import { loginCodes, logins, programLogins, sessions, type Transaction } from '@belay/db';
import type { ProviderTokens } from '@belay/providers';
import { and, eq, gt, type SQL, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorContext, ActorStore, Context, Person, Store, UserActor } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { lifeOf, openTokens, sealTokens } from '../sessions/seal-tokens.js';

/** The request of a program that sent the browser here. */
export interface AskedByProgram {
  callback: string;
  codeChallenge: string;
  label: string | null;
}

/**
 * Stores a program's sign-in until its person has confirmed it, and returns the confirmation page. Without the confirmation, a page of
 * another site could send a signed-in browser through the whole flow and have the code sent to its own program (RFC 8252, section 8.6). The
 * sign-in is bound to the browser and to the login that was just created in it.
 */
export async function askForProgram(
  ctx: Store,
  tx: Transaction,
  input: AskedByProgram & { user: Person; loginId: string; browserHash: string; now: Date },
): Promise<URL> {
  const { user, now, ...asked } = input;
  const request = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  await tx.insert(programLogins).values({
    ...asked,
    requestHash: hashSecret(request),
    provider: user.provider,
    subject: user.subject,
    expiresAt: new Date(now.getTime() + ctx.timing.loginFlow),
  });
  const page = new URL('/api/v1/auth/program', ctx.program.baseUrl);
  page.searchParams.set('request', request);
  return page;
}

/** The key of a program's sign-in: its own secret, and that of the browser in which it was started. */
export interface NamedProgramLogin {
  request: string;
  browserSecret: string | undefined;
}

/** Returns which program requests to sign in as the caller. Throws `not_found` unless the sign-in was started in this browser and login. */
export async function findProgramLogin(ctx: ActorStore, input: NamedProgramLogin): Promise<ShownProgramLogin> {
  const waiting = waitingIn(requireUser(ctx), input);
  const [found] = waiting === undefined ? [] : await ctx.db.select().from(programLogins).where(waiting);
  if (!found) throw notFound('A sign-in of a program that waits in this browser');
  const { label, callback, createdAt, expiresAt } = found;
  const { origin, hostname } = new URL(callback);
  const own = origin === new URL(ctx.program.baseUrl).origin;
  const loopback = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  return {
    request: input.request,
    label,
    callback,
    place: own ? 'own' : loopback ? 'loopback' : 'listed',
    asked_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  };
}

type Waiting = typeof programLogins.$inferSelect;

/**
 * Approves or denies a program's sign-in, once, in the browser and the login in which it was started. Returns where to
 * send the browser, with the code or with an error (RFC 6749, 4.1.2). Throws `not_found` for a sign-in that is unknown,
 * decided or expired, `forbidden` when the session with the provider has ended meanwhile, and `unavailable` while that
 * session is being refreshed.
 */
export async function decideProgramLogin(
  ctx: ActorContext,
  input: NamedProgramLogin & { verdict: Verdict },
): Promise<{ location: string }> {
  const user = requireUser(ctx);
  const approved = input.verdict === 'approve';
  return ctx.db.transaction(async (tx) => {
    // Locked before the rows that belong to the login, as signing out does.
    const [login] = await tx
      .select({ kind: logins.kind })
      .from(logins)
      .where(eq(logins.id, user.loginId))
      .for('update');
    const waiting = login?.kind === 'browser' ? waitingIn(user, input) : undefined;
    const [decided] = waiting === undefined ? [] : await tx.delete(programLogins).where(waiting).returning();
    if (!decided) throw notFound('A sign-in of a program that waits in this browser');
    const { label, provider, callback } = decided;
    const { host } = new URL(callback);
    const called = label === null ? 'A program' : `"${label}"`;
    await appendLedger(tx, [
      {
        type: approved ? 'program.approved' : 'program.denied',
        level: 'warning',
        message: `${user.email} ${approved ? 'approved' : 'denied'} the sign-in of ${called} at ${host} as them`,
        actor: user,
        userId: user.id,
        provider,
        data: { label, address: host },
      },
    ]);
    const url = new URL(callback);
    if (approved) url.searchParams.set('code', await makeCode(ctx, tx, user.id, decided));
    else url.searchParams.set('error', 'access_denied');
    return { location: url.href };
  });
}

async function makeCode(ctx: Context, tx: Transaction, userId: string, decided: Waiting): Promise<string> {
  const now = await readNow(tx);
  const tokens = await takeTokens(ctx, tx, decided, now);
  const code = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  const { loginId, provider, subject, codeChallenge } = decided;
  await tx.insert(loginCodes).values({
    codeHash: hashSecret(code),
    userId,
    provider,
    subject,
    codeChallenge,
    loginId,
    sealed: await sealTokens(ctx, tokens, { now, lifetime: ctx.timing.loginCode }),
    expiresAt: new Date(now.getTime() + ctx.timing.loginCode),
  });
  return code;
}

/**
 * Returns the provider's tokens for the program. A refresh token has one holder (decision 0018): after the confirmation the program holds
 * it, and the browser's session no longer does.
 */
async function takeTokens(ctx: Context, tx: Transaction, decided: Waiting, now: Date): Promise<ProviderTokens> {
  const { loginId, provider, subject } = decided;
  const own = and(eq(sessions.loginId, loginId), eq(sessions.provider, provider), eq(sessions.subject, subject));
  const [session] = await tx.select().from(sessions).where(own).for('update');
  const left = session ? session.expiresAt.getTime() - now.getTime() : 0;
  if (!session || (left <= 0 && session.refreshAt === null)) {
    throw new AccessError('forbidden', `Your session with "${provider}" has ended; start again in the program`);
  }
  // A worker is using the refresh token at the provider now, and will get the next one.
  if (session.leaseUntil !== null && session.leaseUntil > now) {
    throw new AccessError('unavailable', 'The session is being renewed; try again in a moment');
  }
  const { refreshToken, ...shared } = await openTokens(ctx, session.sealed, now);
  const tokens = { ...shared, expiresInMilliseconds: Math.max(0, left) };
  if (refreshToken === undefined) return tokens;
  await tx
    .update(sessions)
    .set(await lifeOf(ctx, provider, tokens, { now, endsAt: session.endsAt }))
    .where(own);
  return { ...tokens, refreshToken };
}

/**
 * Matches a waiting sign-in that has not expired and was started in this browser and this login; undefined without the browser's secret.
 */
function waitingIn(user: UserActor, { request, browserSecret }: NamedProgramLogin): SQL | undefined {
  if (browserSecret === undefined) return undefined;
  return and(
    eq(programLogins.requestHash, hashSecret(request)),
    eq(programLogins.loginId, user.loginId),
    eq(programLogins.browserHash, hashSecret(browserSecret)),
    gt(programLogins.expiresAt, sql`app_now()`),
  );
}
