import type { ErrorCode, ErrorIssue } from '@belay/contract/errors';

/**
 * Every way a call can fail. Most are the server's own codes; `too_many_requests` is a limit on requests in a time, or
 * on what one person may have open. `network` means that no response of Belay arrived; `aborted` means that the
 * caller's signal ended the call.
 */
export type BelayErrorCode = ErrorCode | 'network' | 'aborted';

/** One thing that is wrong with the input. */
export type BelayIssue = ErrorIssue;

/** What is known about a failure beside its code and message. */
export interface BelayErrorDetails {
  /** The HTTP status, or 0 when no answer came back. */
  status: number;
  issues?: BelayIssue[];
  /** The `X-Request-Id` of the response, with which the server's log can be searched. */
  requestId?: string;
  /** How long the server asked to wait before another try. */
  retryAfterMilliseconds?: number;
  cause?: unknown;
}

/** The one error that a method of the SDK throws. */
export class BelayError extends Error {
  override readonly name = 'BelayError';
  readonly status: number;
  readonly issues?: BelayIssue[];
  readonly requestId?: string;
  readonly retryAfterMilliseconds?: number;

  constructor(
    readonly code: BelayErrorCode,
    message: string,
    details: BelayErrorDetails,
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = details.status;
    if (details.issues !== undefined) this.issues = details.issues;
    if (details.requestId !== undefined) this.requestId = details.requestId;
    if (details.retryAfterMilliseconds !== undefined) this.retryAfterMilliseconds = details.retryAfterMilliseconds;
  }
}

/** Returns whether a caught value is a failure of the SDK, and of this kind when a code is given. */
export function isBelayError<Code extends BelayErrorCode>(
  error: unknown,
  code?: Code,
): error is BelayError & { readonly code: Code } {
  return error instanceof BelayError && (code === undefined || error.code === code);
}
