import { pauseAfter } from '@belay/contract/back-off';
import { printable, printableLines } from '@belay/contract/printable';
import { toOneLine } from '@belay/contract/text';
import { approvals, messages, notices } from '@belay/db';
import { Disabled, type Message, type Notifications, type Receipt, Retryable, Terminal } from '@belay/providers';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { publicMessage } from '../catalog/authorizer.js';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { untilStopped } from '../until-stopped.js';
import { composeOutcome, composeQuestion } from './compose.js';
import { composeNotice } from './compose-notice.js';
import { disableChannel, readDisabled } from './disabled.js';
import { placeInCourse } from './in-order.js';
import { writeReminders } from './remind.js';
import { tellNotices } from './tell.js';

/** How many messages one pass delivers. */
const most = 50;

type Row = typeof messages.$inferSelect;

/** A message about an approval. */
interface Claimed {
  message: Row;
  approval: typeof approvals.$inferSelect;
}

/** A message that a step of a workflow sends. */
interface ClaimedTold {
  message: Row & { executionId: string };
}

/** A message that tells of a notice. */
interface ClaimedNotice {
  message: Row;
  notice: typeof notices.$inferSelect;
}

type AnyClaimed = Claimed | ClaimedTold | ClaimedNotice;

/**
 * Delivers queued messages, and revises delivered ones whose approval has closed. With `executionId`, handles only the
 * messages about the approvals of one execution and of its steps; without it, queues the messages of notices first.
 * Each message is delivered at least once, or given up: at a permanent error or after a day, with a warning in the
 * ledger, or when its approval closes. Returns how many messages were attempted. Does not throw the errors of
 * providers: the message is attempted again after a pause.
 */
export async function deliverMessages(ctx: Context, only: { executionId?: string } = {}): Promise<number> {
  if (only.executionId === undefined) {
    // A failure does not stop the delivery: a later pass writes these notices.
    for (const write of [writeReminders, tellNotices]) {
      await write(ctx).catch((error: unknown) => ctx.log.error({ error }, 'notices could not be written'));
    }
  }
  const claimed = await claim(ctx, only.executionId);
  if (claimed.length === 0) return 0;
  const disabled = await readDisabled(ctx);
  await Promise.all(claimed.map((one) => perform(ctx, one, disabled)));
  return claimed.length;
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

/**
 * Claims due messages for the time of a lease, during which no other worker attempts them. Messages to one recipient about one request on
 * one channel go out in the order of events: each is claimed after the one before it was delivered or given up. Urgent messages do not
 * wait, and no message waits for one that is held back by quiet hours.
 */
async function claim(ctx: Context, executionId: string | undefined): Promise<AnyClaimed[]> {
  const request = sql`coalesce(a.execution_id, m.execution_id, n.execution_id)`;
  const theirs = executionId === undefined ? sql`` : sql`and coalesce(a.execution_id, m.execution_id) = ${executionId}`;
  const line = executionId === undefined ? sql`` : sql`and ${request} = ${executionId}`;
  const about = sql`${messages} m left join ${approvals} a on a.id = m.approval_id left join ${notices} n on n.id = m.notice_id`;
  const taken = await ctx.db.execute<{ id: string }>(sql`
    with first as materialized (
      select distinct on (m.provider, m.recipient, ${request}) m.id from ${about}
      where m.closed_at is null and m.delivered_at is null and (m.due_at <= app_now() or m.attempts > 0)
        and ${request} is not null and coalesce(a.status, 'open') = 'open' and not coalesce(n.urgent, false) ${line}
      order by m.provider, m.recipient, ${request}, coalesce(n.created_at, a.created_at, m.created_at),
        ${placeInCourse(sql`coalesce(n.kind, 'request.waiting')`)}, m.id),
    due as (
      select m.id from ${about}
      where m.closed_at is null and m.due_at <= app_now() ${theirs}
        and case when m.delivered_at is not null or a.status <> 'open' then a.status <> 'open'
          else n.urgent or ${request} is null or m.id in (select id from first) end
      order by m.due_at limit ${most} for update of m skip locked)
    update ${messages} set attempts = attempts + 1, due_at = app_now() + ${`${ctx.timing.lease} milliseconds`}::interval
    from due where ${messages}.id = due.id returning ${messages}.id`);
  if (taken.length === 0) return [];
  const ids = taken.map(({ id }) => id);
  const rows = await ctx.db
    .select({ message: messages, approval: approvals, notice: notices })
    .from(messages)
    .leftJoin(approvals, eq(approvals.id, messages.approvalId))
    .leftJoin(notices, eq(notices.id, messages.noticeId))
    .where(inArray(messages.id, ids));
  return rows.flatMap(({ message, approval, notice }): AnyClaimed[] => {
    if (approval) return [{ message, approval }];
    if (message.executionId !== null) return [{ message: { ...message, executionId: message.executionId } }];
    return notice ? [{ message, notice }] : [];
  });
}

async function perform(ctx: Context, claimed: AnyClaimed, disabled: ReadonlySet<string>): Promise<void> {
  const { message } = claimed;
  try {
    if (disabled.has(message.provider) && message.deliveredAt === null)
      throw new Terminal(`${message.provider} accepts no more messages`);
    if ('notice' in claimed) await performNotice(ctx, claimed);
    else if ('approval' in claimed) await performQuestion(ctx, claimed);
    else await performTold(ctx, claimed);
  } catch (error) {
    await fail(ctx, claimed, error);
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
async function fail(ctx: Context, claimed: AnyClaimed, error: unknown): Promise<void> {
  const { message } = claimed;
  const { provider } = message;
  const given = await isGivenUp(ctx, claimed, error);
  const reason = publicMessage(error);
  ctx.log.warn({ message: message.id, provider, error }, `a message could not be delivered: ${reason}`);
  const wish = error instanceof Retryable ? (error.options.afterMilliseconds ?? 0) : 0;
  const wait = Math.min(ctx.timing.messages.last, Math.max(wish, pauseAfter(ctx.timing.messages, message.attempts)));
  const dueAt = sql`app_now() + ${`${wait} milliseconds`}::interval`;
  if (error instanceof Disabled) await disableChannel(ctx, provider, reason);
  if (!given) return write(ctx, message, { lastError: reason, dueAt });
  const undelivered = message.deliveredAt === null ? { failedAt: sql`app_now()` } : {};
  await write(ctx, message, { lastError: reason, closedAt: sql`app_now()`, ...undelivered });
  await tellOperators(ctx, claimed, reason);
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
