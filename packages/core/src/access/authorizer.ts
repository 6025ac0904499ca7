import { type Authorizer, Retryable } from '@belay/providers';
import type { Context } from '../context.js';

/** The authorizer of a provider. Throws Retryable when it has no client now: what is owed there stays owed. */
export function authorizerOf(ctx: Context, provider: string): Authorizer {
  const authorizer = ctx.catalog.client(provider)?.authorizer;
  if (!authorizer) throw new Retryable(`The provider "${provider}" is not available`);
  return authorizer;
}

/** Fit for the ledger and the requester: a connector's own message, never an unexpected error's. */
export function publicMessage(error: unknown): string {
  if (error instanceof Error && (error.name === 'Retryable' || error.name === 'Terminal'))
    return error.message.slice(0, 500);
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'The provider did not answer in time';
  return 'The provider failed unexpectedly';
}
