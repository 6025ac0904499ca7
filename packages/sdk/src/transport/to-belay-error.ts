import { TRPCClientError } from '@trpc/client';
import { BelayError } from '../errors.js';
import { readFailure } from './read-failure.js';

/**
 * Converts a value that a call threw to the SDK's error: an error of `createSend`, a streamed error, or an abort. Any
 * other value becomes `network`.
 */
export function toBelayError(error: unknown, signal?: AbortSignal): BelayError {
  if (error instanceof BelayError) return error;
  if (signal?.aborted) return new BelayError('aborted', 'the call was aborted', { status: 0, cause: signal.reason });
  if (error instanceof TRPCClientError) {
    if (error.cause instanceof BelayError) return error.cause;
    if (error.shape) return readFailure({ status: 500, body: error.shape });
  }
  return new BelayError('network', 'the response could not be read', { status: 0, cause: error });
}
