import { AccessError, notFound } from '@belay/contract/errors';
import { logins, users } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import { requireReason } from '../access/revoke.js';
import { nameOf } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { requireAdministrator } from '../people/oversight.js';

/**
 * Ends one login of a person, or a token, by its id (POST /admin/logins/{id}/end): administrators and operators only,
 * with a reason, audited. Requests that were made with it continue. Throws `forbidden`, `invalid` or `not_found`.
 */
export async function endOtherLogin(
  ctx: ActorStore,
  input: { id: string; reason: string },
): Promise<{ status: 'ok'; message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const { kind, email } = await end(ctx, input.id, { reason });
  return { status: 'ok', message: `The ${kind === 'token' ? 'token' : 'login'} of ${email} is ended` };
}

/**
 * Ends one token that an operator created, by its id (`belay token revoke`): operators only, audited. Requests that
 * were made with it continue. Throws `forbidden` or `not_found`.
 */
export async function revokeToken(ctx: ActorStore, input: { id: string }): Promise<{ message: string; id: string }> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can revoke tokens');
  const { id, email } = await end(ctx, input.id, { kind: 'token' });
  return { message: `The token of ${email} is revoked`, id };
}

async function end(ctx: ActorStore, id: string, { kind, reason }: { kind?: 'token'; reason?: string }) {
  const { actor } = ctx;
  if (!isId(id)) throw notFound(kind === 'token' ? 'The token' : 'The login');
  return ctx.db.transaction(async (tx) => {
    const [gone] = await tx
      .delete(logins)
      .where(and(eq(logins.id, id), kind && eq(logins.kind, kind)))
      .returning();
    const [owner] = gone ? await tx.select().from(users).where(eq(users.id, gone.userId)) : [];
    if (!gone || !owner) throw notFound(kind === 'token' ? 'The token' : 'The login');
    const what = gone.kind === 'token' ? 'token' : 'login';
    const why = reason === undefined ? '' : `: ${reason}`;
    await appendLedger(tx, [
      {
        type: what === 'token' ? 'token.revoked' : 'login.ended',
        level: 'warning',
        message: `${nameOf(actor)} ended a ${what} of ${owner.email}${why}`,
        actor,
        userId: owner.id,
        provider: gone.provider,
        data: { login_id: gone.id, kind: gone.kind, label: gone.label, ...(reason === undefined ? {} : { reason }) },
      },
    ]);
    return { id: gone.id, kind: gone.kind, email: owner.email };
  });
}
