import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { hasUnseen } from '@belay/contract/text';
import { oauthFlows } from '@belay/db';
import { type Authenticated, type Authenticator, Retryable } from '@belay/providers';
import { and, eq, gt, isNull, or, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { requireAdmitted } from '../people/admission.js';
import { requireReadable } from '../people/proved.js';
import { requireProvisioned } from '../people/provisioned.js';
import { requireText } from '../text.js';
import { open, seal } from '../tokens/seal.js';
import { openAnswer } from './posted.js';

export type Flow = typeof oauthFlows.$inferSelect;

export interface BeginFlow {
  provider: string;
  purpose: Flow['purpose'] & ('login' | 'session');
  callback: string | null;
  browserSecret: string | undefined;
  loginId: string | null;
  codeChallenge?: string | undefined;
  scopes?: string[] | undefined;
  /** The state that a program wants back at its callback; sealed. */
  clientState?: string | undefined;
  /** The name that a program gives itself; sealed until a page shows it. */
  label?: string | undefined;
}

const flowSecrets = z.object({
  nonce: z.string(),
  codeVerifier: z.string(),
  clientState: z.string().optional(),
  label: z.string().optional(),
});

/** Returns an enabled sign-in provider. Throws `not_found` for any other. */
export function authenticatorOf(ctx: Context, id: string): Authenticator {
  const provider = ctx.catalog.current().providers.get(id);
  const authenticator = ctx.catalog.client(id)?.authenticator;
  if (!provider?.enabled || !provider.capabilities.has('authenticator') || !authenticator)
    throw notFound(`Authenticator ${id}`);
  return authenticator;
}

/** Returns the URL to which providers return; it must be registered with them. */
export function redirectUri(ctx: Context, provider: string): string {
  return new URL(`/api/v1/auth/callback/${encodeURIComponent(provider)}`, ctx.program.baseUrl).href;
}

/**
 * Starts a flow at a provider: always with PKCE, state and nonce, all created here (docs/architecture.md, section 9).
 * Returns the URL for the browser. Throws `not_found` or `unavailable`.
 */
export async function beginFlow(ctx: Context, input: BeginFlow): Promise<URL> {
  const authenticator = authenticatorOf(ctx, input.provider);
  const secret = () => Buffer.from(ctx.randomBytes(32)).toString('base64url');
  const [state, nonce, codeVerifier] = [secret(), secret(), secret()];
  const now = await readNow(ctx.db);
  const lifetime = ctx.timing.loginFlow;
  const request = { redirectUri: redirectUri(ctx, input.provider), state, nonce, codeVerifier };
  const url = await authenticator
    .authorizationUrl(
      input.scopes?.length ? { ...request, scopes: input.scopes } : request,
      AbortSignal.timeout(ctx.timing.callTimeout),
    )
    .catch((cause: unknown) => {
      throw new AccessError('unavailable', `The provider "${input.provider}" cannot be reached`, { cause });
    });
  const { clientState, label } = input;
  const said = { ...(clientState === undefined ? {} : { clientState }), ...(label === undefined ? {} : { label }) };
  const secrets = { nonce, codeVerifier, ...said };
  await ctx.db.insert(oauthFlows).values({
    stateHash: hashSecret(state),
    provider: input.provider,
    purpose: input.purpose,
    callback: input.callback,
    sealed: await seal(ctx.keyring, 'oauth', secrets, { now, lifetime }),
    codeChallenge: input.codeChallenge ?? null,
    browserHash: input.browserSecret === undefined ? null : hashSecret(input.browserSecret),
    loginId: input.loginId,
    expiresAt: new Date(now.getTime() + lifetime),
  });
  return url;
}

/** Consumes a flow when it belongs to this browser, is unused and has not expired; otherwise returns undefined. */
export async function takeFlow(
  ctx: Context,
  input: { provider: string; purpose: BeginFlow['purpose']; state: string; browserSecret: string | undefined },
): Promise<Flow | undefined> {
  // Another browser can neither finish a bound flow nor consume it.
  const own =
    input.browserSecret === undefined ? undefined : eq(oauthFlows.browserHash, hashSecret(input.browserSecret));
  const [flow] = await ctx.db
    .update(oauthFlows)
    .set({ consumedAt: sql`app_now()` })
    .where(
      and(
        eq(oauthFlows.stateHash, hashSecret(input.state)),
        eq(oauthFlows.provider, input.provider),
        eq(oauthFlows.purpose, input.purpose),
        or(isNull(oauthFlows.browserHash), own),
        isNull(oauthFlows.consumedAt),
        gt(oauthFlows.expiresAt, sql`app_now()`),
      ),
    )
    .returning();
  return flow;
}

/** Returns the secrets that a flow stores sealed. */
export async function openFlow(ctx: Context, flow: Flow, now: Date) {
  return flowSecrets.parse(await open(ctx.keyring, 'oauth', flow.sealed, now));
}

/**
 * Exchanges the provider's response and verifies it fully; rejects a person without a verified e-mail address, an
 * identity that `sign_in` does not admit, and a person whom a directory has deactivated. A posted response is already
 * stored and is read with the code that only the browser has. Throws `forbidden` or `unavailable`.
 */
export async function exchangeAnswer(
  ctx: Context,
  flow: Flow,
  currentUrl: URL,
  secrets: { nonce: string; codeVerifier: string },
  now: Date,
): Promise<Authenticated> {
  const posted = authenticatorOf(ctx, flow.provider).answersBy === 'form';
  const proved = posted
    ? await openAnswer(ctx, flow, currentUrl.searchParams.get('code') ?? '', now)
    : await verifyAnswer(ctx, flow, currentUrl, secrets);
  const { endsAt, tokens } = proved;
  await requireAdmitted(ctx, { ...proved, provider: flow.provider });
  await requireProvisioned(ctx, { ...proved, provider: flow.provider });
  if (endsAt === undefined) return proved;
  const left = endsAt.getTime() - now.getTime();
  if (left <= 0)
    throw new AccessError('forbidden', `Your session with "${flow.provider}" has ended; sign in with it again`);
  const expiresInMilliseconds = Math.min(left, tokens.expiresInMilliseconds ?? left);
  return { ...proved, tokens: { ...tokens, expiresInMilliseconds } };
}

/** Verifies the response with the provider's authenticator. Throws `forbidden` or `unavailable`. */
export async function verifyAnswer(
  ctx: Context,
  flow: Flow,
  currentUrl: URL,
  secrets: { nonce: string; codeVerifier: string },
): Promise<Authenticated> {
  const { provider } = flow;
  const { nonce, codeVerifier } = secrets;
  const state = currentUrl.searchParams.get('state') ?? '';
  const proved = await authenticatorOf(ctx, provider)
    .exchange(
      currentUrl,
      { redirectUri: redirectUri(ctx, provider), state, nonce, codeVerifier },
      AbortSignal.timeout(ctx.timing.callTimeout),
    )
    .catch((cause: unknown) => {
      ctx.log.warn({ provider, error: cause }, 'a login could not be completed');
      if (cause instanceof Retryable)
        throw new AccessError('unavailable', `The provider "${provider}" cannot be reached`, { cause });
      throw new AccessError('forbidden', 'The provider did not confirm your identity', { cause });
    });
  return requireReadable(proved);
}

/**
 * Returns the XML that a provider needs about this service before people can sign in with it. Throws `not_found` and
 * `not_configured`.
 */
export async function readSignInMetadata(ctx: Context, input: { provider: string }): Promise<{ metadata: string }> {
  const metadata = await authenticatorOf(ctx, input.provider).metadata?.(redirectUri(ctx, input.provider));
  if (metadata === undefined) {
    throw new AccessError('not_configured', `The provider "${input.provider}" does not use metadata`);
  }
  return { metadata };
}

/**
 * Returns the name that a program gives itself, in a form that pages, logs and terminals can display. It is not
 * verified. Throws `invalid` when it is empty, longer than 200 characters, or has characters that cannot be stored, are
 * not displayed, or change how others are displayed.
 */
export function requireLabel(given: string): string {
  const label = requireText(given.trim(), 'label', limits.name);
  if (label === '' || hasUnseen(label)) throw invalid('label', 'contains characters that cannot be displayed');
  return label;
}
