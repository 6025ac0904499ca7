import { pauseAfter } from '@belay/contract/back-off';
import { approvals, messages } from '@belay/db';
import { type Notifications, type Receipt, Retryable, Terminal } from '@belay/providers';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { publicMessage } from '../catalog/authorizer.js';
import type { Context } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { untilStopped } from '../until-stopped.js';
import { composeOutcome, composeQuestion } from './compose.js';

/** How many messages one pass delivers. */
const most = 50;

interface Claimed {
  message: typeof messages.$inferSelect;
  approval: typeof approvals.$inferSelect;
}

/**
 * Delivers what is queued, and revises what was delivered about approvals that have closed since; only of one execution when
 * it is named. Every message is delivered at least once while its approval is open. Returns how many were tried. Throws nothing
 * that a provider throws: it is tried again after a pause.
 */
export async function deliverMessages(ctx: Context, only: { executionId?: string } = {}): Promise<number> {
  const claimed = await claim(ctx, only.executionId);
  await Promise.all(claimed.map((one) => perform(ctx, one)));
  return claimed.length;
}

/** Returns the notifications of a provider. Throws `Terminal` when it has none, or is switched off. */
export function notificationsOf(ctx: Context, provider: string): Notifications {
  const defined = ctx.catalog.current().providers.get(provider);
  const notifications = ctx.catalog.client(provider)?.notifications;
  if (!notifications || !defined?.enabled || !defined.capabilities.has('notifications'))
    throw new Terminal(`The provider "${provider}" delivers no messages`);
  return notifications;
}

/** Takes what is due for the time of a lease, in which no other worker tries it. */
async function claim(ctx: Context, executionId: string | undefined): Promise<Claimed[]> {
  const theirs = executionId === undefined ? sql`` : sql`and a.execution_id = ${executionId}`;
  const taken = await ctx.db.execute<{ id: string }>(sql`
    with due as (
      select m.id from ${messages} m join ${approvals} a on a.id = m.approval_id
      where m.closed_at is null and m.due_at <= app_now() and (m.delivered_at is null or a.status <> 'open') ${theirs}
      order by m.due_at limit ${most} for update of m skip locked)
    update ${messages} set attempts = attempts + 1, due_at = app_now() + ${`${ctx.timing.lease} milliseconds`}::interval
    from due where ${messages}.id = due.id returning ${messages}.id`);
  if (taken.length === 0) return [];
  const ids = taken.map(({ id }) => id);
  return ctx.db
    .select({ message: messages, approval: approvals })
    .from(messages)
    .innerJoin(approvals, eq(approvals.id, messages.approvalId))
    .where(inArray(messages.id, ids));
}

async function perform(ctx: Context, claimed: Claimed): Promise<void> {
  const { message, approval } = claimed;
  try {
    if (message.deliveredAt !== null) return await revise(ctx, claimed);
    // An earlier attempt may have delivered it, although its answer was lost.
    const earlier = message.attempts > 1 ? await findDelivered(ctx, claimed) : null;
    const receipt = earlier ?? (approval.status === 'open' ? await deliver(ctx, claimed) : null);
    if (receipt) await recordDelivery(ctx, message, receipt);
    else await write(ctx, message, { closedAt: sql`app_now()` });
  } catch (error) {
    await fail(ctx, claimed, error);
  }
}

async function findDelivered(ctx: Context, { message }: Claimed): Promise<Receipt | null> {
  const { find } = notificationsOf(ctx, message.provider);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const asked = { to: message.recipient, idempotencyKey: message.key };
  return find ? untilStopped(find(asked, signal), signal) : null;
}

async function deliver(ctx: Context, { message, approval }: Claimed): Promise<Receipt> {
  const notifications = notificationsOf(ctx, message.provider);
  const composed = await composeQuestion(ctx, message, approval);
  const signal = AbortSignal.timeout(ctx.timing.callTimeout);
  const receipt = await untilStopped(notifications.deliver(composed, signal), signal);
  ctx.crashpoint('message delivered');
  return receipt;
}

/** Due at once: the approval may have closed meanwhile, and the message is revised then. */
async function recordDelivery(ctx: Context, message: Claimed['message'], receipt: Receipt): Promise<void> {
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
    await untilStopped(notifications.revise(message.receipt as Receipt, composed, signal), signal);
  }
  ctx.crashpoint('message revised');
  await write(ctx, message, { closedAt: sql`app_now()`, lastError: null });
}

/** Writes what came of a try, unless another worker has tried since: at the worst the message is delivered again. */
async function write(
  ctx: Context,
  { id, attempts }: Claimed['message'],
  set: Parameters<ReturnType<typeof ctx.db.update<typeof messages>>['set']>[0],
): Promise<void> {
  await ctx.db
    .update(messages)
    .set(set)
    .where(and(eq(messages.id, id), eq(messages.attempts, attempts)));
}

/**
 * Returns whether nothing more is tried: a message that can never be delivered, or could not be revised for a day. Its buttons decide
 * nothing then, but an operator who restores the channel in time has them removed.
 */
async function isGivenUp(ctx: Context, { message, approval }: Claimed, error: unknown): Promise<boolean> {
  if (approval.closedAt === null) return error instanceof Terminal;
  const since = (await readNow(ctx.db)).getTime() - approval.closedAt.getTime();
  return since > ctx.timing.messages.revision || (error instanceof Terminal && message.deliveredAt === null);
}

/** A message delays nothing: the inbox shows the request nevertheless. */
async function fail(ctx: Context, claimed: Claimed, error: unknown): Promise<void> {
  const { message, approval } = claimed;
  const { provider } = message;
  const given = await isGivenUp(ctx, claimed, error);
  const reason = publicMessage(error);
  ctx.log.warn({ message: message.id, provider, error }, `a message could not be delivered: ${reason}`);
  const wish = error instanceof Retryable ? (error.options.afterMilliseconds ?? 0) : 0;
  const wait = Math.min(ctx.timing.messages.last, Math.max(wish, pauseAfter(ctx.timing.messages, message.attempts)));
  const dueAt = sql`app_now() + ${`${wait} milliseconds`}::interval`;
  await write(ctx, message, { lastError: reason, ...(given ? { closedAt: sql`app_now()` } : { dueAt }) });
  if (!given) return;
  await appendLedger(ctx.db, [
    {
      type: 'message.failed',
      level: 'warning',
      message: `A message about the request could not be delivered by ${provider}: ${reason}`,
      actor: { kind: 'system', name: 'messages' },
      provider,
      executionId: approval.executionId,
      data: { approval: approval.id },
    },
  ]);
}
