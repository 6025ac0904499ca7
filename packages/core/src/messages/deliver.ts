import { pauseAfter } from '@belay/contract/back-off';
import { printable, printableLines } from '@belay/contract/printable';
import { toOneLine } from '@belay/contract/text';
import { messages } from '@belay/db';
import { Disabled, type Message, type Notifications, type Receipt, Retryable, Terminal } from '@belay/providers';
import { and, eq, sql } from 'drizzle-orm';
import { publicMessage } from '../catalog/authorizer.js';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { untilStopped } from '../until-stopped.js';
import { composeOutcome, composeQuestion } from './compose.js';
import { composeNotice } from './compose-notice.js';
import { disableChannel, readDisabled } from './disabled.js';
import {
  type AnyClaimed,
  type Claimed,
  type ClaimedNotice,
  type ClaimedTold,
  claimMessage,
  drawOfExecution,
  readLanes,
} from './draw.js';
import { type Attempted, outboxOf, workLane } from './lanes.js';
import { writeReminders } from './remind.js';
import { tellNotices } from './tell.js';

type Row = typeof messages.$inferSelect;

/** What one call of `deliverMessages` handles: everything, or the messages about one execution; until `signal` aborts. */
interface DeliveryOptions {
  executionId?: string;
  signal?: AbortSignal;
}

/**
 * Delivers queued messages, and revises delivered ones whose approval has closed, until none is due. With
 * `executionId`, handles only the messages about the approvals of one execution and of its steps; without it, turns
 * notices into messages meanwhile. A call does not wait for what another call of this process already attempts. Each
 * message is delivered at least once, or given up: at a permanent error or after a day, with a warning in the ledger, or
 * when its approval closes. Returns how many messages it attempted. Does not throw the errors of providers: the message
 * is attempted again after a pause.
 */
export async function deliverMessages(ctx: Context, { executionId, signal }: DeliveryOptions = {}): Promise<number> {
  if (executionId !== undefined) return deliverOf(ctx, executionId);
  const begun: Promise<number>[] = [];
  const begin = async () => {
    const lanes = await readLanes(ctx);
    if (lanes.length === 0) return;
    const disabled = await readDisabled(ctx);
    for (const lane of lanes) {
      const attempt = (claimed: AnyClaimed) => perform(ctx, claimed, disabled);
      begun.push(
        workLane(ctx, lane, { attempt, signal }).catch((error: unknown) => {
          ctx.log.warn({ provider: lane.provider, error }, 'messages could not be delivered');
          return 0;
        }),
      );
    }
  };
  // What is queued already does not wait until the notices are told.
  await begin();
  await tell(ctx, begin, signal);
  return (await Promise.all(begun)).reduce((total, one) => total + one, 0);
}

/** Turns notices into messages, unless this process is doing that already, and begins to deliver them meanwhile. */
async function tell(ctx: Context, begin: () => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const outbox = outboxOf(ctx);
  if (outbox.telling) return;
  outbox.telling = true;
  try {
    // A failure does not stop the delivery: a later pass writes these notices.
    for (const write of [writeReminders, (store: Context) => tellNotices(store, { told: begin, signal })]) {
      await write(ctx).catch((error: unknown) => ctx.log.error({ error }, 'notices could not be written'));
    }
  } finally {
    outbox.telling = false;
  }
}

async function deliverOf(ctx: Context, executionId: string): Promise<number> {
  const drawn = await drawOfExecution(ctx, executionId);
  if (drawn.length === 0) return 0;
  const disabled = await readDisabled(ctx);
  const attempts = drawn.map(async (id) => {
    const claimed = await claimMessage(ctx, id);
    if (claimed) await perform(ctx, claimed, disabled);
    return claimed !== null;
  });
  return (await Promise.all(attempts)).filter(Boolean).length;
}

/**
 * Returns the notifications of a provider. Throws `Terminal` when the provider does not deliver messages, or is disabled, and
 * `Retryable` when it has no client at the moment.
 */
function notificationsOf(ctx: Context, provider: string): Notifications {
  const defined = ctx.catalog.current().providers.get(provider);
  if (!defined?.enabled || !defined.capabilities.has('notifications'))
    throw new Terminal(`The provider "${provider}" delivers no messages`);
  const notifications = ctx.catalog.client(provider)?.notifications;
  if (!notifications) throw new Retryable(`The provider "${provider}" is not available`);
  return notifications;
}

async function perform(ctx: Context, claimed: AnyClaimed, disabled: ReadonlySet<string>): Promise<Attempted> {
  const { message } = claimed;
  try {
    if (disabled.has(message.provider) && message.deliveredAt === null)
      throw new Terminal(`${message.provider} accepts no more messages`);
    if ('notice' in claimed) await performNotice(ctx, claimed);
    else if ('approval' in claimed) await performQuestion(ctx, claimed);
    else await performTold(ctx, claimed);
    return 'done';
  } catch (error) {
    return fail(ctx, claimed, error);
  }
}

async function performTold(ctx: Context, { message }: ClaimedTold): Promise<void> {
  const earlier = message.attempts > 1 ? await findDelivered(ctx, message) : null;
  const { recipient: to, key: idempotencyKey } = message;
  const words = { title: message.title ?? '', text: message.text ?? '', facts: [], actions: [] };
  const receipt = earlier ?? (await send(ctx, message, { to, idempotencyKey, ...words }));
  await write(ctx, message, { receipt, deliveredAt: sql`app_now()`, closedAt: sql`app_now()`, lastError: null });
}

async function performNotice(ctx: Context, { message, notice }: ClaimedNotice): Promise<void> {
  const late = notice.endsAt !== null && notice.endsAt <= (await readNow(ctx.db));
  const earlier = message.attempts > 1 ? await findDelivered(ctx, message) : null;
  const receipt = earlier ?? (late ? null : await send(ctx, message, await composeNotice(ctx, message, notice)));
  // A reminder is of no use after the access has ended.
  if (receipt === null) throw new Terminal('It could not be delivered in time');
  await write(ctx, message, { receipt, deliveredAt: sql`app_now()`, closedAt: sql`app_now()`, lastError: null });
}

async function performQuestion(ctx: Context, claimed: Claimed): Promise<void> {
  const { message, approval } = claimed;
  if (message.deliveredAt !== null) return revise(ctx, claimed);
  // An earlier attempt may have delivered the message although its response was lost.
  const earlier = message.attempts > 1 ? await findDelivered(ctx, message) : null;
  const open = approval.status === 'open';
  const receipt = earlier ?? (open ? await send(ctx, message, await composeQuestion(ctx, message, approval)) : null);
  if (receipt) return recordDelivery(ctx, message, receipt);
  // The request was settled before its question was due, or while the channel was down.
  if (message.lastError === null) await write(ctx, message, { closedAt: sql`app_now()` });
  else throw new Terminal(message.lastError);
}

async function findDelivered(ctx: Context, message: Row): Promise<Receipt | null> {
  const { find } = notificationsOf(ctx, message.provider);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const asked = { to: message.recipient, idempotencyKey: message.key };
  return find ? untilStopped(find(asked, signal), signal) : null;
}

async function send(ctx: Context, row: Row, message: Message): Promise<Receipt> {
  const notifications = notificationsOf(ctx, row.provider);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const receipt = await untilStopped(notifications.deliver(shown(message), signal), signal);
  ctx.crashpoint('message delivered');
  return receipt;
}

/**
 * Returns a message in which control characters and marks that change the direction of text are visible, as on pages, so that a reason
 * cannot be made to read as another one. A title is one line on every channel.
 */
function shown({ title, text, facts, ...message }: Message): Message {
  return {
    ...message,
    title: printable(toOneLine(title)),
    text: printableLines(text.replaceAll('\r\n', '\n')),
    facts: facts.map(({ name, value }) => ({ name, value: printableLines(value.replaceAll('\r\n', '\n')) })),
  };
}

/** Records a delivery. The message is due again at once, so that it is revised if its approval has closed meanwhile. */
async function recordDelivery(ctx: Context, message: Row, receipt: Receipt): Promise<void> {
  const { revise } = notificationsOf(ctx, message.provider);
  await write(ctx, message, {
    receipt,
    deliveredAt: sql`app_now()`,
    dueAt: sql`app_now()`,
    attempts: 0,
    lastError: null,
    ...(revise ? {} : { closedAt: sql`app_now()` }),
  });
}

async function revise(ctx: Context, { message, approval }: Claimed): Promise<void> {
  const notifications = notificationsOf(ctx, message.provider);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const composed = await composeOutcome(ctx, message, approval);
  if (notifications.revise) {
    await untilStopped(notifications.revise(message.receipt as Receipt, shown(composed), signal), signal);
  }
  ctx.crashpoint('message revised');
  await write(ctx, message, { closedAt: sql`app_now()`, lastError: null });
}

/**
 * Writes the result of an attempt, unless another worker has attempted the message since. In the worst case the message is delivered again.
 */
async function write(
  ctx: Context,
  { id, attempts }: Row,
  set: Parameters<ReturnType<typeof ctx.db.update<typeof messages>>['set']>[0],
): Promise<void> {
  await ctx.db
    .update(messages)
    .set(set)
    .where(and(eq(messages.id, id), eq(messages.attempts, attempts)));
}

/**
 * Returns whether a message is given up: one that can never be delivered or was attempted for a day, or one that could not be revised for a
 * day. A revision is attempted again even after a permanent error, so that an operator who restores the channel in time has the buttons
 * removed; they decide nothing any more.
 */
async function isGivenUp(ctx: Context, claimed: AnyClaimed, error: unknown): Promise<boolean> {
  const { message } = claimed;
  const now = (await readNow(ctx.db)).getTime();
  const { patience, revision } = ctx.timing.messages;
  if (message.deliveredAt === null && (error instanceof Terminal || now - message.createdAt.getTime() > patience))
    return true;
  if (!('approval' in claimed) || claimed.approval.closedAt === null) return error instanceof Terminal;
  return now - claimed.approval.closedAt.getTime() > revision;
}

/** Records a failed attempt. An approval does not depend on its message: the inbox shows the request nevertheless. */
async function fail(ctx: Context, claimed: AnyClaimed, error: unknown): Promise<Attempted> {
  const { message } = claimed;
  const { provider } = message;
  const given = await isGivenUp(ctx, claimed, error);
  const reason = publicMessage(error);
  ctx.log.warn({ message: message.id, provider, error }, `a message could not be delivered: ${reason}`);
  const wish = error instanceof Retryable ? (error.options.afterMilliseconds ?? 0) : 0;
  const wait = Math.min(ctx.timing.messages.last, Math.max(wish, pauseAfter(ctx.timing.messages, message.attempts)));
  const dueAt = sql`app_now() + ${`${wait} milliseconds`}::interval`;
  if (error instanceof Disabled) await disableChannel(ctx, provider, reason);
  const wished = Math.min(wish, ctx.timing.messages.last);
  const attempted = error instanceof Terminal ? 'done' : { failed: wished };
  if (!given) {
    await write(ctx, message, { lastError: reason, dueAt });
    return attempted;
  }
  const undelivered = message.deliveredAt === null ? { failedAt: sql`app_now()` } : {};
  await write(ctx, message, { lastError: reason, closedAt: sql`app_now()`, ...undelivered });
  await tellOperators(ctx, claimed, reason);
  return attempted;
}

async function tellOperators(ctx: Context, claimed: AnyClaimed, reason: string): Promise<void> {
  const { provider } = claimed.message;
  const { executionId, data } = aboutOf(claimed);
  await appendLedger(ctx.db, [
    {
      type: 'message.failed',
      level: 'warning',
      message: `A message about the request could not be delivered by ${provider}: ${reason}`,
      actor: { kind: 'system', name: 'messages' },
      provider,
      ...(executionId === null ? {} : { executionId }),
      data,
    },
  ]);
}

/** Returns what a message is about, for the ledger. */
function aboutOf(claimed: AnyClaimed): { executionId: string | null; data: { [key: string]: string } } {
  if ('notice' in claimed) return { executionId: claimed.notice.executionId, data: { notice: claimed.notice.kind } };
  if ('approval' in claimed)
    return { executionId: claimed.approval.executionId, data: { approval: claimed.approval.id } };
  return { executionId: claimed.message.executionId, data: { step: claimed.message.stepKey ?? '' } };
}
