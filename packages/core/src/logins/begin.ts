import { invalid } from '@belay/contract/errors';
import type { Context, UserActor } from '../context.js';
import { checkCallback } from './callback.js';
import { authenticatorOf, beginFlow } from './flow.js';
import { requireLabel } from './label.js';

export interface BeginLogin {
  provider: string;
  /** Where to return to; see checkCallback. */
  callback?: string | undefined;
  /** S256 challenge of a program that will exchange the code it gets at its callback (RFC 7636). */
  codeChallenge?: string | undefined;
  /** What the program says of itself, for the page that asks its person. */
  label?: string | undefined;
  /** What only this browser knows: the flow comes back to it or not at all. */
  browserSecret: string;
  /** Who is signed in in this browser and asked for this on a page of ours: what they prove is linked to them (docs/interface.md, section 16, rule 15). */
  signedIn?: UserActor | undefined;
}

/** Sends a browser to a provider's sign-in. Answers the URL to go to. Throws `invalid`, `not_found` or `unavailable`. */
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
    // A program's sign-in is nobody's wish to link anything.
    loginId: input.codeChallenge === undefined ? (input.signedIn?.loginId ?? null) : null,
  });
  return { url: url.href };
}
