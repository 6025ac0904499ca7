import { AccessError, notFound } from '@belay/contract/errors';
import { type HookDecision, type HookRequest, type Json, Retryable } from '@belay/providers';
import { withActor } from '../actor.js';
import { decideApproval } from '../approvals/decide.js';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { untilStopped } from '../until-stopped.js';
import { openDecisionToken } from './compose.js';
import { findClicker } from './find-clicker.js';

/**
 * Takes a provider's signed request (`POST /hooks/{provider}`). A decision in it goes the way of one on the page. The reply does
 * not wait for it for longer than providers wait: it then goes on, and who clicked is told what came of it. Throws `not_found` for a provider
 * that sends none, `unauthenticated` for a request that it did not sign, and `unavailable`.
 */
export async function receiveHook(
  ctx: Context,
  { provider, ...request }: HookRequest & { provider: string },
): Promise<{ [key: string]: Json }> {
  const defined = ctx.catalog.current().providers.get(provider);
  const notifications = ctx.catalog.client(provider)?.notifications;
  if (!defined?.enabled || !defined.capabilities.has('notifications') || !notifications?.receive) {
    throw notFound(`The hook of ${provider}`);
  }
  const received = await notifications.receive(request, await readNow(ctx.db)).catch((cause: unknown) => {
    ctx.log.warn({ provider, error: cause }, 'a request to a hook was rejected');
    if (cause instanceof Retryable)
      throw new AccessError('unavailable', 'The request cannot be verified now', { cause });
    throw new AccessError('unauthenticated', 'The request is not signed by the provider, or is too old', { cause });
  });
  const { decision, reply = {} } = received;
  if (!decision) return reply;
  const work = decide(ctx, provider, decision).catch((error: unknown) =>
    ctx.log.error({ provider, error }, 'a decision that came by a message could not be handled'),
  );
  const stop = new AbortController();
  await Promise.race([work, ctx.delay(ctx.timing.hookReply, stop.signal).catch(() => undefined)]);
  stop.abort();
  return reply;
}

/** Decides as the person who clicked, and tells them when that was not possible. */
async function decide(ctx: Context, provider: string, decision: HookDecision): Promise<void> {
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const failure = await untilStopped(decideAs(ctx, provider, decision, signal), signal).then(
    () => null,
    (error: unknown) => error,
  );
  if (failure === null) return;
  const known = failure instanceof AccessError;
  if (!known) ctx.log.warn({ provider, error: failure }, 'a decision that came by a message failed');
  const text = known ? failure.message : 'The decision could not be recorded; open the request in Belay';
  await decision.tell?.(text, AbortSignal.timeout(ctx.timing.callTimeout));
}

async function decideAs(ctx: Context, provider: string, decision: HookDecision, signal: AbortSignal): Promise<void> {
  const { approval, digest, verdict } = await openDecisionToken(ctx, decision.token);
  const clicker = await decision.actor(signal);
  const actor = clicker && (await findClicker(ctx, provider, clicker));
  if (!actor) {
    throw new AccessError(
      'forbidden',
      'Belay does not know you by this account: sign in to Belay first, and decide there',
    );
  }
  await decideApproval(withActor(ctx, actor), {
    id: approval,
    verdict,
    request_digest: digest,
    via: 'message',
    ...(decision.comment === undefined ? {} : { comment: decision.comment }),
  });
}
