import { AccessError, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { grants, users } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { findExecution, isId } from '../find-execution.js';
import { isKnownAs } from '../people/people.js';
import { requireText } from '../text.js';
import { endHeld } from './return.js';
import { isLive } from './wanted.js';

export interface RevokeAccess {
  /** The id of an execution, or the e-mail address of a person for all access of that person. */
  of: string;
  reason: string;
}

/**
 * Ends access of a person immediately (`belay access revoke`): operators only, with a reason, audited. The provider is
 * called as for every early end. Throws `forbidden` for other callers, `not_found`, and `conflict` when no access is
 * held.
 */
export async function revokeAccess(
  ctx: ActorStore,
  input: RevokeAccess,
): Promise<{ status: 'ok'; message: string; executions: string[] }> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', "Only operators revoke other people's access");
  const reason = requireText(input.reason.trim(), 'reason', limits.operatorReason);
  if (reason.length === 0) throw invalid('reason', 'is required');
  const executions = isId(input.of) ? [input.of] : await executionsOf(ctx, input.of);
  if (executions.length === 0) throw new AccessError('conflict', `${input.of} holds no access`);
  for (const id of executions) await revokeOne(ctx, id, reason);
  return { status: 'ok', message: `The access of ${executions.length} request(s) is being revoked`, executions };
}

async function executionsOf(ctx: ActorStore, email: string): Promise<string[]> {
  const rows = await ctx.db
    .selectDistinct({ id: grants.executionId })
    .from(grants)
    .innerJoin(users, eq(users.id, grants.userId))
    .where(and(isKnownAs(ctx.db, users.id, requireText(email, 'of', 320).trim()), isLive));
  return rows.map(({ id }) => id);
}

async function revokeOne(ctx: ActorStore, id: string, reason: string): Promise<void> {
  const { execution, owner } = await findExecution(ctx, ctx.actor, id);
  await endHeld(ctx, execution, {
    reason: 'revoked',
    entry: {
      type: 'access.revoked',
      level: 'warning',
      message: `An operator revoked the access of ${owner.email}: ${reason}`,
      actor: ctx.actor,
      userId: execution.ownerId,
      executionId: execution.id,
    },
  });
}
