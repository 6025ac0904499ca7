import { type Authorizer, type Entitlement, Pending, Retryable } from '@belay/providers';
import { type Held, settles } from './decide.js';

/**
 * Reads what the provider holds. Throws `Pending` while an operation is running there, and `Retryable` when a connector that
 * can know returns `unknown`: then nothing is known and the caller reads again later. Decisions may rely on the result.
 */
export async function readHeld(authorizer: Authorizer, entitlement: Entitlement, signal: AbortSignal): Promise<Held> {
  const held = await authorizer.holds(entitlement, signal);
  if (settles(held, authorizer.knows)) return held;
  if (held === 'changing') throw new Pending('Another operation for this access is still running');
  throw new Retryable('The provider cannot report whether the access is held');
}
