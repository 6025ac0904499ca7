import { AccessError } from '@belay/contract/errors';
import { type CallFunction, done, type Performed } from '@belay/engine';
import { Retryable, Terminal } from '@belay/providers';
import { z } from 'zod';
import { notifyWith } from '../configuration/function-checks.js';
import type { Context } from '../context.js';
import { notificationsOf } from '../messages/deliver.js';
import { readNow } from '../now.js';
import type { ElevationCall } from '../plans/input.js';

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
      await notificationsOf(ctx, provider).deliver(
        {
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
