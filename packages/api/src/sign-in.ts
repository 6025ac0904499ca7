import { AccessError } from '@belay/contract/errors';
import {
  beginLogin,
  checkCallback,
  completeLogin,
  completeSession,
  endLogin,
  listAuthenticators,
  receiveAnswer,
  type UserActor,
  withActor,
} from '@belay/core';
import { redirect } from './reply.js';
import type { RequestContext } from './request-context.js';

/** Returns the secret in the browser's flow cookie, or a new one; all tabs of a browser share it. */
export function browserSecret(ctx: RequestContext): string {
  return ctx.request.browserSecret ?? Buffer.from(ctx.core.randomBytes(32)).toString('base64url');
}

/** Returns the person who is signed in in this browser; undefined for a bearer token, which belongs to a program. */
function signedInHere(ctx: RequestContext): UserActor | undefined {
  return ctx.request.viaCookie && ctx.actor?.kind === 'user' ? ctx.actor : undefined;
}

/** Returns the sign-in providers; with a provider in the query, redirects to its sign-in (GET /auth). */
export async function chooseProvider(ctx: RequestContext, input: { provider?: string } & Onward) {
  // Checked before the person signs in, not afterwards.
  if (input.callback !== undefined) checkCallback(ctx.core, input.callback);
  if (input.provider !== undefined) {
    return redirect(ctx, { providers: [] }, 302, requestPath(ctx, input.provider, input));
  }
  return {
    providers: listAuthenticators(ctx.core).map((provider) => ({
      ...provider,
      url: requestPath(ctx, provider.id, input),
    })),
  };
}

/** Redirects the browser to the provider, and binds the flow to the browser by a cookie. */
export async function beginSignIn(
  ctx: RequestContext,
  input: { provider: string; callback?: string; label?: string; code_challenge?: string },
) {
  const secret = browserSecret(ctx);
  const { url } = await beginLogin(ctx.core, {
    provider: input.provider,
    callback: input.callback,
    codeChallenge: input.code_challenge,
    label: input.label,
    browserSecret: secret,
    // Only for requests from Belay's own pages: another site could otherwise link the identity of another person to the caller.
    signedIn: ctx.request.secFetchSite === 'same-origin' ? signedInHere(ctx) : undefined,
  });
  ctx.reply.cookies.push({ kind: 'flow', value: secret });
  return redirect(ctx, { url }, 302, url);
}

/**
 * Completes the sign-in at the provider: creates a login with its cookie, or opens the requested session. Redirects to
 * the callback; without a callback, returns the person who has signed in.
 */
export async function completeSignIn(
  ctx: RequestContext,
  input: { provider: string; code?: string; state?: string; error?: string },
) {
  const needed = input.error === undefined ? (['code', 'state'] as const) : (['state'] as const);
  const issues = needed.filter((name) => input[name] === undefined).map((path) => ({ path, message: 'is required' }));
  if (issues.length > 0)
    throw new AccessError('invalid', 'This is not the response of a provider to a sign-in', { issues });
  const { provider } = input;
  const currentUrl = ctx.request.url;
  const signedIn = signedInHere(ctx);
  const secret = ctx.request.browserSecret;
  const session = await completeSession(ctx.core, { provider, currentUrl, browserSecret: secret, signedIn });
  if (session !== null) return redirect(ctx, null, 302, session.callback);
  if (secret === undefined) {
    throw new AccessError('invalid', 'This sign-in was started in another browser, or it has expired; start again');
  }
  const login = await completeLogin(ctx.core, { provider, currentUrl, browserSecret: secret, signedIn });
  ctx.reply.cookies.push({ kind: 'login', value: login.token, expiresAt: login.expiresAt });
  // The cookie is renewed, because a program's sign-in continues in this browser with the confirmation page.
  ctx.reply.cookies.push({ kind: 'flow', value: secret });
  const { email, name, groups } = login.user;
  const output = { user: { email, name, groups }, expires_at: login.expiresAt.toISOString() };
  return login.callback === null ? output : redirect(ctx, output, 302, login.callback);
}

/**
 * Stores the response that the provider made the browser post. Redirects to the callback, where the browser sends its
 * cookies again.
 */
export async function receiveSignIn(
  ctx: RequestContext,
  input: { provider: string; SAMLResponse: string; RelayState: string },
) {
  const { provider, SAMLResponse, RelayState } = input;
  const received = await receiveAnswer(ctx.core, { provider, state: RelayState, fields: { SAMLResponse } });
  return redirect(ctx, received, 303, received.url);
}

/** Ends the caller's login, or only its session with one provider. A second sign-out is not an error. */
export async function signOut(ctx: RequestContext, input: { provider?: string }): Promise<{ message: string }> {
  const { actor } = ctx;
  if (actor === null || actor.kind !== 'user') {
    ctx.reply.cookies.push({ kind: 'login', value: null });
    return { message: 'You are not signed in' };
  }
  const ended = await endLogin(withActor(ctx.core, actor), input);
  if (ended.ended) ctx.reply.cookies.push({ kind: 'login', value: null });
  return { message: ended.message };
}

/** The parameters that a link to a provider's sign-in passes on. */
interface Onward {
  callback?: string;
  label?: string;
  code_challenge?: string;
  code_challenge_method?: 'S256';
}

function requestPath(ctx: RequestContext, provider: string, onward: Onward): string {
  const { callback, label, code_challenge, code_challenge_method } = onward;
  const carried = Object.entries({ callback, label, code_challenge, code_challenge_method });
  const query = new URLSearchParams(
    carried.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, value]])),
  ).toString();
  return `${ctx.host.basePath}/auth/request/${encodeURIComponent(provider)}${query === '' ? '' : `?${query}`}`;
}
