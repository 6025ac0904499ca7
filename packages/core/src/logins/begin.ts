import { invalid } from '@belay/contract/errors';
import type { Context, UserActor } from '../context.js';
import { checkCallback } from './callback.js';
import { authenticatorOf, beginFlow, requireLabel } from './flow.js';

export interface BeginLogin {
  provider: string;
  /** Where to return to; see `checkCallback`. */
  callback?: string | undefined;
  /** S256 challenge of a program that will exchange the code from its callback (RFC 7636). */
  codeChallenge?: string | undefined;
  /** The name that the program gives itself, for the confirmation page. */
  label?: string | undefined;
  /** The secret that only this browser knows: the flow can only return to this browser. */
  browserSecret: string;
  /**
   * The person who is signed in in this browser and started this sign-in on a page of Belay: the identity that they prove is linked to them
   * (docs/interface.md, section 16, rule 15).
   */
  signedIn?: UserActor | undefined;
}

/**
 * Starts a sign-in and returns the URL of the provider for the browser. Throws `invalid`, `not_found` or
 * `unavailable`.
 */
export async function beginLogin(ctx: Context, input: BeginLogin): Promise<{ url: string }> {
  authenticatorOf(ctx, input.provider);
  const callback = input.callback === undefined ? null : checkCallback(ctx, input.callback).href;
  if (input.codeChallenge !== undefined) {
    if (!/^[A-Za-z0-9_-]{43}$/.test(input.codeChallenge)) throw invalid('code_challenge', 'is not an S256 challenge');
    if (callback === null) throw invalid('callback', 'is required with a code_challenge');
  }
  const label = input.label === undefined ? undefined : requireLabel(input.label);
  const url = await beginFlow(ctx, {
    provider: input.provider,
    purpose: 'login',
    callback,
    browserSecret: input.browserSecret,
    codeChallenge: input.codeChallenge,
    label,
    // The sign-in of a program is never a request to link identities.
    loginId: input.codeChallenge === undefined ? (input.signedIn?.loginId ?? null) : null,
  });
  return { url: url.href };
}
