import type { ActorContext } from '../context.js';
import { AccessError } from '../errors.js';
import { findExecution } from '../executions/find.js';
import { requireText } from '../text.js';
import { endHeld } from './return.js';

/**
 * Ends the access of anybody's execution at once (`belay access revoke`): operators only, with a reason, audited. The
 * provider follows as it does for every early end. Throws `forbidden` for anybody else, `conflict` when nothing is held.
 */
export async function revokeAccess(
  ctx: ActorContext,
  input: { execution_id: string; reason: string },
): Promise<{ status: 'ok'; message: string }> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', "Only operators revoke other people's access");
  const reason = requireText(input.reason.trim(), 'reason', 500);
  if (reason.length === 0)
    throw new AccessError('invalid', 'Say why', { issues: [{ path: 'reason', message: 'is required' }] });
  const { execution, owner } = await findExecution(ctx, ctx.actor, input.execution_id);
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
  return { status: 'ok', message: `The access of ${owner.email} ends now` };
}
