import { cutText, toStorable } from '@belay/contract/text';
import { type Access, type Authorizer, LeftToOthers, Retryable, Terminal } from '@belay/providers';
import type { Store } from '../context.js';

/**
 * Returns the authorizer of a provider. A disabled provider grants nothing, but its access is still revoked. Throws `Retryable` when the
 * provider has no client at the moment, and `Terminal` for a grant at a disabled provider.
 */
export function authorizerOf(ctx: Store, provider: string, task: 'observe' | 'grant' | 'revoke'): Authorizer {
  const authorizer = ctx.catalog.client(provider)?.authorizer;
  if (!authorizer) throw new Retryable(`The provider "${provider}" is not available`);
  if (task === 'grant' && !ctx.catalog.current().providers.get(provider)?.enabled) {
    throw new Terminal(`The provider "${provider}" is disabled`);
  }
  return authorizer;
}

/** Returns a message for the ledger and the requester: that of a connector, never that of an unexpected error. */
export function publicMessage(error: unknown): string {
  // Decided by class: an error of a library can have any name, and its message can contain a secret.
  if (error instanceof Retryable || error instanceof Terminal) return cutText(toStorable(error.message), 500);
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'The provider did not respond in time';
  return 'The provider failed unexpectedly';
}

/**
 * Returns what a revocation left because it can be another's, in the whole words of its connector, by which an operator accepts
 * it; null for every other error.
 */
export function leftToOthers(error: unknown): string | null {
  return error instanceof LeftToOthers ? toStorable(error.message) : null;
}

/** What can remain of access at a provider after its revocation. */
export interface Aftermath {
  /** How long access can outlive its revocation at worst, ISO 8601. */
  residual: string;
  /** What the holder may leave behind that a revocation does not remove, in a sentence; null for nothing. */
  leaves_behind: string | null;
}

/** Returns what can remain of access at a provider, as its connector reports now. */
export function aftermathOf(ctx: Store, provider: string, access: Access): Aftermath {
  const authorizer = ctx.catalog.client(provider)?.authorizer;
  return {
    residual: authorizer ? residualOf(authorizer, access) : 'PT0S',
    leaves_behind: authorizer?.leavesBehind ?? null,
  };
}

/**
 * Returns how long this access can outlive its revocation at worst, in ISO 8601: for this access if the connector knows
 * it, otherwise for any access of the provider.
 */
export function residualOf(authorizer: Authorizer, access: Access): string {
  return authorizer.residualOf?.(access) ?? authorizer.residual;
}
