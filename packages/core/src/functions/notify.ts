import { AccessError } from '@belay/contract/errors';
import { messages } from '@belay/db';
import { type CallFunction, done, lockExecution, type Performed } from '@belay/engine';
import { Retryable, Terminal } from '@belay/providers';
import { eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { notifyWith } from '../configuration/function-checks.js';
import type { Context } from '../context.js';
import { deliverMessages } from '../messages/deliver.js';
import { keyOfStep, queueTold } from '../messages/queue.js';
import type { ElevationCall } from '../plans/input.js';

/**
 * `access.notify`: queues one message, and is done when it is delivered. The message is committed before its provider is called,
 * so that it is delivered even when this process or the execution ends; the task waits for a few attempts only.
 */
export const notify = {
  asks(call: ElevationCall) {
    const settings = notifyWith.safeParse(call.with);
    return settings.success ? [settings.data.provider] : [];
  },
  async perform(ctx: Context, call: ElevationCall): Promise<Performed> {
    const settings = notifyWith.safeParse(call.with);
    if (!settings.success) throw new AccessError('invalid', `access.notify: ${z.prettifyError(settings.error)}`);
    const { provider, to, title, message } = settings.data;
    const { executionId, key: stepKey, ownerId: cause } = call;
    await ctx.db.transaction(async (tx) => {
      const locked = await lockExecution(tx, executionId, stepKey);
      // A process that has lost its step, or whose step has ended meanwhile, queues nothing.
      if (!locked?.step || locked.step.attempt !== call.attempt) return;
      const words = { title: title ?? `Access to ${call.input.role}`, text: message };
      await queueTold(tx, { id: ctx.newId(), executionId, stepKey, cause, provider, to, ...words });
    });
    ctx.crashpoint('message queued');
    await deliverMessages(ctx, { executionId });
    return judge(ctx, keyOfStep(executionId, stepKey));
  },
} satisfies CallFunction;

/**
 * Returns the outcome of the step once its message is delivered. Throws `Terminal` when the message was given up or attempted too often,
 * otherwise `Retryable`.
 */
async function judge(ctx: Context, key: string): Promise<Performed> {
  const [message] = await ctx.db
    .select({
      deliveredAt: messages.deliveredAt,
      failedAt: messages.failedAt,
      lastError: messages.lastError,
      attempts: messages.attempts,
      wait: sql<number>`greatest(0, extract(epoch from ${messages.dueAt} - app_now()) * 1000)::int`,
    })
    .from(messages)
    .where(eq(messages.key, key));
  if (message?.deliveredAt) return done({ delivered_at: message.deliveredAt.toISOString() });
  const error = message?.lastError ?? 'The message is being delivered';
  if (message?.failedAt || (message?.lastError && message.attempts >= ctx.timing.notificationAttempts))
    throw new Terminal(error);
  throw new Retryable(error, { afterMilliseconds: message?.wait ?? 0 });
}
