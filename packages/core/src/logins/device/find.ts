import type { ShownDeviceLogin } from '@belay/contract/auth';
import { notFound } from '@belay/contract/errors';
import { deviceLogins } from '@belay/db';
import { and, eq, gt, sql } from 'drizzle-orm';
import { requireUser } from '../../actor.js';
import type { ActorStore } from '../../context.js';
import { hashUserCode, readUserCode } from './codes.js';

/**
 * Returns the sign-in of the machine that showed a code; null without a code. Throws the same `not_found` for a code
 * that is unknown, decided or expired.
 */
export async function findDeviceLogin(
  ctx: ActorStore,
  input: { user_code?: string | undefined },
): Promise<{ request: ShownDeviceLogin | null }> {
  requireUser(ctx);
  if (input.user_code === undefined) return { request: null };
  const code = readUserCode(input.user_code);
  const [found] =
    code === undefined
      ? []
      : await ctx.db
          .select()
          .from(deviceLogins)
          .where(
            and(
              eq(deviceLogins.userCodeHash, hashUserCode(code)),
              eq(deviceLogins.status, 'open'),
              gt(deviceLogins.expiresAt, sql`app_now()`),
            ),
          );
  if (code === undefined || !found) throw notFound('A sign-in that waits with this code');
  const { label, createdAt, expiresAt } = found;
  return {
    request: {
      // In its displayed form and not as it was typed: a link could make it look like another code.
      user_code: code,
      label,
      asked_at: createdAt.toISOString(),
      expires_at: expiresAt.toISOString(),
    },
  };
}
