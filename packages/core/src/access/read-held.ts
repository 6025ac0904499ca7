import { type Authorizer, type EntitlementRef, Pending, Retryable } from '@belay/providers';
import { type Held, settles } from './decide.js';

/**
 * Reads what the provider holds. Throws Pending while an operation is under way there, and Retryable when a connector that can
 * know says `unknown`: the caller has learned nothing and asks again later. Decisions may rest on what is returned.
 */
export async function readHeld(
  authorizer: Authorizer,
  entitlement: EntitlementRef,
  signal: AbortSignal,
): Promise<Held> {
  const held = await authorizer.holds(entitlement, signal);
  if (settles(held, authorizer.knows)) return held;
  if (held === 'changing') throw new Pending('Another operation for this access is still running');
  throw new Retryable('The provider cannot report whether the access is held');
}
