import { hashSecret } from '@belay/contract/canonical';
import { invalid } from '@belay/contract/errors';
import { oauthFlows } from '@belay/db';
import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { authenticatorOf, type Flow, openFlow, redirectUri, verifyAnswer } from './flow.js';
import { sealAnswer } from './posted.js';

/**
 * Receives a response that a provider made a browser post here (SAML 2.0 Bindings, 3.5): verified fully, and once per flow. Such a post
 * arrives without our cookies, so it creates no login. Returns the URL of the callback for the browser, with the flow's state and a code
 * that only this browser has. The callback also requires the cookie of the browser that started the flow, so the code alone is worthless.
 * Throws `not_found`, `invalid`, `forbidden` or `unavailable`.
 */
export async function receiveAnswer(
  ctx: Context,
  input: { provider: string; state: string; fields: Record<string, string> },
): Promise<{ url: string }> {
  const { provider, state, fields } = input;
  if (authenticatorOf(ctx, provider).answersBy !== 'form') {
    throw invalid('provider', 'does not return its response with a form');
  }
  const [flow] = await ctx.db.select().from(oauthFlows).where(waiting(provider, state));
  if (!flow) throw unknown();
  const now = await readNow(ctx.db);
  const answer = new URL(redirectUri(ctx, provider));
  answer.search = new URLSearchParams({ ...fields, state }).toString();
  const proved = await verifyAnswer(ctx, flow, answer, await openFlow(ctx, flow, now));
  const code = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  const lifetime = flow.expiresAt.getTime() - now.getTime();
  const [kept] = await ctx.db
    .update(oauthFlows)
    .set({ answerHash: hashSecret(code), answer: await sealAnswer(ctx, proved, { now, lifetime }) })
    .where(waiting(provider, state))
    .returning({ stateHash: oauthFlows.stateHash });
  if (!kept) throw unknown();
  const url = new URL(redirectUri(ctx, provider));
  url.search = new URLSearchParams({ code, state }).toString();
  return { url: url.href };
}

/** Matches a flow that has not expired and has no response yet: a second response is a replay. */
function waiting(provider: Flow['provider'], state: string) {
  return and(
    eq(oauthFlows.stateHash, hashSecret(state)),
    eq(oauthFlows.provider, provider),
    isNull(oauthFlows.answerHash),
    isNull(oauthFlows.consumedAt),
    gt(oauthFlows.expiresAt, sql`app_now()`),
  );
}

function unknown() {
  return invalid('state', 'is unknown, already used or expired; sign in again');
}
