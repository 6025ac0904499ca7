import { AccessError } from '@belay/contract/errors';
import { type CallFunction, done, type Performed } from '@belay/engine';
import { type Message, Retryable, Terminal } from '@belay/providers';
import { z } from 'zod';
import { notifyWith } from '../configuration/function-checks.js';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import type { ElevationCall } from '../plans/input.js';

/** Passes one message to a provider's notifications. Throws the error of the connector. */
export async function deliverMessage(
  ctx: Context,
  message: Message & { provider: string },
  signal: AbortSignal,
): Promise<void> {
  const { provider, ...rest } = message;
  const defined = ctx.catalog.current().providers.get(provider);
  const notifications = ctx.catalog.client(provider)?.notifications;
  if (!notifications || !defined?.enabled || !defined.capabilities.has('notifications'))
    throw new Terminal(`The provider "${provider}" does not support messages`);
  await notifications.deliver(rest, signal);
}

/** `access.notify`: one notification, retried while its provider requests that, up to a limit. */
export const notify = {
  asks(call: ElevationCall) {
    const settings = notifyWith.safeParse(call.with);
    return settings.success ? [settings.data.provider] : [];
  },
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    const settings = notifyWith.safeParse(call.with);
    if (!settings.success) throw new AccessError('invalid', `access.notify: ${z.prettifyError(settings.error)}`);
    const { provider, to, title, message } = settings.data;
    try {
      await deliverMessage(
        ctx,
        {
          provider,
          to,
          title: title ?? `Access to ${call.input.role}`,
          text: message,
          facts: [],
          actions: [],
          idempotencyKey: `${call.executionId}${call.key}`,
        },
        signal,
      );
    } catch (error) {
      if (error instanceof Retryable && call.attempt >= ctx.timing.notificationAttempts)
        throw new Terminal(error.message, { cause: error });
      throw error;
    }
    return done({ delivered_at: (await readNow(ctx.db)).toISOString() });
  },
} satisfies CallFunction;
