import { type Authorizer, type EntitlementRef, Retryable } from '@belay/providers';
import { type Held, settles } from './decide.js';

/**
 * Reads what the provider holds. Throws Retryable when a connector that can know says `unknown`: the caller has learned
 * nothing and asks again later. Decisions may rest on what is returned.
 */
export async function readHeld(
  authorizer: Authorizer,
  entitlement: EntitlementRef,
  signal: AbortSignal,
): Promise<Held> {
  const held = await authorizer.holds(entitlement, signal);
  if (!settles(held, authorizer.knows)) throw new Retryable('The provider cannot say whether the access is held');
  return held;
}
