import { logins } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { appendLedger } from '../ledger/append.js';

/** Ends the caller's login, or only when it is one with `provider` (interface, GET /auth/logout). It is dead everywhere at once. */
export async function endLogin(
  ctx: ActorContext,
  input: { provider?: string | undefined },
): Promise<{ message: string; ended: boolean }> {
  const user = requireUser(ctx);
  const gone = await ctx.db
    .delete(logins)
    .where(
      and(eq(logins.id, user.loginId), input.provider === undefined ? undefined : eq(logins.provider, input.provider)),
    )
    .returning({ id: logins.id });
  if (gone.length === 0) return { message: 'You were not signed in there', ended: false };
  await appendLedger(ctx.db, [
    { type: 'login.ended', message: `${user.email} signed out`, actor: user, userId: user.id, provider: user.provider },
  ]);
  return { message: 'You are signed out', ended: true };
}
