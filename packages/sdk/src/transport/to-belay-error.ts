import { TRPCClientError } from '@trpc/client';
import { BelayError } from '../errors.js';
import { readFailure } from './read-failure.js';

/** Returns a value that a call threw as the SDK's error: from the error of `createSend`, a streamed error, or an abort. */
export function toBelayError(error: unknown, signal?: AbortSignal): BelayError {
  if (error instanceof BelayError) return error;
  if (signal?.aborted) return new BelayError('aborted', 'the call was aborted', { status: 0, cause: signal.reason });
  if (error instanceof TRPCClientError) {
    if (error.cause instanceof BelayError) return error.cause;
    if (error.shape) return readFailure({ status: 500, body: error.shape });
  }
  return new BelayError('network', 'the response could not be read', { status: 0, cause: error });
}
