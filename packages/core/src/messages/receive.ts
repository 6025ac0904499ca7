import type { Decided } from '@belay/contract/approvals';
import { AccessError, notFound } from '@belay/contract/errors';
import { messages } from '@belay/db';
import { type HookDecision, type HookRequest, type Json, type Receipt, Retryable } from '@belay/providers';
import { and, eq, isNull, or, sql } from 'drizzle-orm';
import { withActor } from '../actor.js';
import { decideApproval } from '../approvals/decide.js';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { untilStopped } from '../until-stopped.js';
import { openDecisionToken, verdictsOf } from './compose.js';
import { deliverMessages } from './deliver.js';
import { findClicker } from './find-clicker.js';

/**
 * Handles a provider's signed request (`POST /hooks/{provider}`). A decision in it is made by the same rules as on the page. The reply
 * waits for the decision no longer than providers wait. The decision then continues, and the person who clicked is told its result. Throws
 * `not_found` for a provider that sends no such requests, `unauthenticated` for a request that it did not sign, and `unavailable`.
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

/** Decides as the person who clicked, and tells them when that was not possible, or did not settle the request. */
async function decide(ctx: Context, provider: string, decision: HookDecision): Promise<void> {
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const text = await untilStopped(decideAs(ctx, provider, decision, signal), signal).then(
    async ({ status, execution_id: executionId }) => {
      // The messages about this request show the outcome at once; notices of it follow with the next sweep.
      if (status !== 'open') await deliverMessages(ctx, { executionId });
      return status === 'open' ? 'Your decision is recorded; the request waits for further approvals' : null;
    },
    (failure: unknown) => {
      if (failure instanceof AccessError) return failure.message;
      ctx.log.warn({ provider, error: failure }, 'a decision that came by a message failed');
      return 'The decision could not be recorded; open the request in Belay';
    },
  );
  if (text !== null) await decision.tell?.(text, AbortSignal.timeout(ctx.timing.callTimeout));
}

async function decideAs(
  ctx: Context,
  provider: string,
  { token, receipt, actor: findActor, comment }: HookDecision,
  signal: AbortSignal,
): Promise<Decided> {
  const { approval, digest, verdict } = await openDecisionToken(ctx, token);
  if (!verdictsOf(ctx, provider).includes(verdict)) {
    throw new AccessError('forbidden', 'This cannot be decided by a message: open the request in Belay');
  }
  const clicker = await findActor(signal);
  const actor = clicker && (await findClicker(ctx, provider, clicker));
  if (!actor) {
    throw new AccessError(
      'forbidden',
      'Belay does not know you by this account: sign in to Belay first, and decide there',
    );
  }
  if (!(await isItsMessage(ctx, { provider, approval, receipt }))) {
    throw new AccessError('conflict', 'This button belongs to another message: open the request in Belay');
  }
  return decideApproval(withActor(ctx, actor), {
    id: approval,
    verdict,
    request_digest: digest,
    via: 'message',
    ...(comment === undefined ? {} : { comment }),
  });
}

/**
 * Returns whether a button was in a message about its own approval (decision 0119). A message that is being delivered counts too: the click
 * can be faster than the record of the delivery.
 */
async function isItsMessage(
  ctx: Context,
  { provider, approval, receipt }: { provider: string; approval: string; receipt: Receipt | undefined },
): Promise<boolean> {
  if (receipt === undefined) return true;
  const { approvalId, deliveredAt } = messages;
  const here = or(isNull(deliveredAt), sql`${messages.receipt} @> ${JSON.stringify(receipt)}::jsonb`);
  const found = await ctx.db
    .select({ id: messages.id })
    .from(messages)
    .where(and(eq(approvalId, approval), eq(messages.provider, provider), here))
    .limit(1);
  return found.length > 0;
}
