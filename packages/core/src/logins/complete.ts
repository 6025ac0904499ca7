import { loginCodes, oauthFlows } from '@belay/db';
import { Retryable } from '@belay/providers';
import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { hashSecret } from '../canonical.js';
import type { Context } from '../context.js';
import { AccessError, invalid } from '../errors.js';
import { readNow } from '../now.js';
import { open } from '../tokens/seal.js';
import { authenticatorOf, redirectUri } from './begin.js';
import { createLogin, type Person, upsertUser } from './create.js';

export interface CompletedLogin {
  /** The secret of the browser's login. */
  token: string;
  expiresAt: Date;
  user: { id: string; email: string; name: string; groups: string[] };
  /** Where to return to, with the code in it when a program asked for one. */
  callback: string | null;
}

const flowSecrets = z.object({ nonce: z.string(), codeVerifier: z.string() });

/**
 * Completes a login that came back from its provider. The flow must be this browser's, unused and in time; the provider's
 * answer is verified whole; a person without a verified e-mail is refused. Throws `invalid` or `forbidden`.
 */
export async function completeLogin(
  ctx: Context,
  input: { provider: string; currentUrl: URL; browserSecret: string },
): Promise<CompletedLogin> {
  const authenticator = authenticatorOf(ctx, input.provider);
  const state = input.currentUrl.searchParams.get('state') ?? '';
  const [flow] = await ctx.db
    .update(oauthFlows)
    .set({ consumedAt: sql`app_now()` })
    .where(
      and(
        eq(oauthFlows.stateHash, hashSecret(state)),
        eq(oauthFlows.provider, input.provider),
        // Another browser can neither finish this flow nor use it up.
        eq(oauthFlows.browserHash, hashSecret(input.browserSecret)),
        isNull(oauthFlows.consumedAt),
        gt(oauthFlows.expiresAt, sql`app_now()`),
      ),
    )
    .returning();
  if (!flow) throw invalid('state', 'is unknown, used or too old; sign in again');
  if (input.currentUrl.searchParams.has('error'))
    throw new AccessError('forbidden', 'The provider refused to sign you in');
  const now = await readNow(ctx.db);
  const { nonce, codeVerifier } = flowSecrets.parse(await open(ctx.keyring, 'oauth', flow.sealed, now));
  const proved = await authenticator
    .exchange(
      input.currentUrl,
      { redirectUri: redirectUri(ctx, input.provider), state, nonce, codeVerifier },
      AbortSignal.timeout(ctx.timing.callTimeout),
    )
    .catch((cause: unknown) => {
      ctx.log.warn({ provider: input.provider, error: cause }, 'a login could not be completed');
      if (cause instanceof Retryable)
        throw new AccessError('unavailable', `The provider "${input.provider}" cannot be reached`, { cause });
      throw new AccessError('forbidden', 'The provider did not prove who you are', { cause });
    });
  if (!proved.emailVerified || !proved.email)
    throw new AccessError('forbidden', 'The provider has not verified your e-mail address');
  const user = await upsertUser(ctx.db, {
    id: ctx.newId(),
    provider: input.provider,
    subject: proved.subject,
    email: proved.email,
    name: proved.name || proved.email,
    groups: proved.groups,
  });
  const login = await createLogin(ctx, { user, kind: 'browser' });
  const { id, email, name, groups } = user;
  return { ...login, user: { id, email, name, groups }, callback: await callbackOf(ctx, flow, user, now) };
}

async function callbackOf(
  ctx: Context,
  flow: typeof oauthFlows.$inferSelect,
  user: Person,
  now: Date,
): Promise<string | null> {
  if (flow.callback === null || flow.codeChallenge === null) return flow.callback;
  const code = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  await ctx.db.insert(loginCodes).values({
    codeHash: hashSecret(code),
    userId: user.id,
    provider: user.provider,
    codeChallenge: flow.codeChallenge,
    expiresAt: new Date(now.getTime() + ctx.timing.loginCode),
  });
  const url = new URL(flow.callback);
  url.searchParams.set('code', code);
  return url.href;
}
