import { AccessError } from '@belay/contract/errors';
import { endHeldHere, Related } from '../access/end-held.js';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { findExecution, isId } from '../find-execution.js';
import { endExtensions, endFamily } from './cancel.js';

/**
 * Gives the access of the caller's execution back before it expires. The grants of an execution end in one transaction.
 * The provider is called immediately, and again until it has revoked the access (R3, R4). All access that extends this
 * access, or is extended by it, ends too. Throws `forbidden` for another person's execution, `not_found` for one that
 * the caller may not see, `conflict` when no access is held.
 */
export async function returnAccess(
  ctx: ActorContext,
  input: { execution_id: string },
): Promise<{ status: 'ok'; message: string }> {
  const user = requireUser(ctx);
  const { execution_id: id } = input;
  const own = isId(id) && (await endOwn(ctx, id, user.id));
  if (!own) {
    await findExecution(ctx, user, id);
    throw new AccessError('forbidden', 'The access belongs to another person');
  }
  return { status: 'ok', message: 'The access is given back' };
}

/** Ends the access of an execution after that of its family, so that the owner can repeat the call when the process stops in between. */
async function endOwn(ctx: ActorContext, id: string, owner: string): Promise<boolean> {
  try {
    return await endHeldHere(ctx, { id }, { reason: 'returned', owner, alone: true });
  } catch (error) {
    if (!(error instanceof Related)) throw error;
  }
  await endFamily(ctx, { id, ownerId: owner });
  const own = await endHeldHere(ctx, { id }, { reason: 'returned', owner });
  // An extension may have been requested meanwhile.
  if (own) await endExtensions(ctx, id);
  return own;
}
