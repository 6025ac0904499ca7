import { logins, type Transaction } from '@belay/db';
import { eq } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore, UserActor } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { leaveProvider } from '../sessions/leave.js';

export interface EndedLogin {
  message: string;
  /** True when the whole login has ended, and not only its session with one provider. */
  ended: boolean;
}

/**
 * Ends the caller's login with all its sessions, or only its session with `provider`; the login ends with its last session (GET
 * /auth/logout). What has ended stops working everywhere immediately. Tokens at the provider are not revoked.
 */
export async function endLogin(ctx: ActorStore, input: { provider?: string | undefined }): Promise<EndedLogin> {
  const user = requireUser(ctx);
  return ctx.db.transaction(async (tx) => {
    // Two simultaneous sign-outs take turns, so that the second sees what the first left.
    const [login] = await tx.select().from(logins).where(eq(logins.id, user.loginId)).for('update');
    if (!login) return { message: 'You are not signed in', ended: true };
    if (input.provider === undefined) return endWhole(tx, user);
    const left = await leaveProvider(tx, login, input.provider);
    if (left === 'nothing') return { message: 'You were not signed in with this provider', ended: false };
    if (left === 'login') return endWhole(tx, user);
    await appendLedger(tx, [
      {
        type: 'session.ended',
        message: `${user.email} signed out of ${input.provider}`,
        actor: user,
        userId: user.id,
        provider: input.provider,
        data: { login_id: login.id },
      },
    ]);
    return {
      message: `You are signed out of "${input.provider}", and still signed in with other providers`,
      ended: false,
    };
  });
}

async function endWhole(tx: Transaction, user: UserActor): Promise<EndedLogin> {
  await tx.delete(logins).where(eq(logins.id, user.loginId));
  await appendLedger(tx, [
    { type: 'login.ended', message: `${user.email} signed out`, actor: user, userId: user.id, provider: user.provider },
  ]);
  return { message: 'You are signed out', ended: true };
}
