import type { ErrorCode, ErrorIssue } from '@belay/contract/errors';

/**
 * Every way in which a call can fail. Most are the server's own codes. `too_many_requests` is a limit on the rate of requests, or on what
 * one person may have open. `network` means that no response of Belay arrived; `aborted` means that the caller's signal ended the call.
 */
export type BelayErrorCode = ErrorCode | 'network' | 'aborted';

/** One fault of the input. */
export type BelayIssue = ErrorIssue;

/** The details of a failure besides its code and message. */
export interface BelayErrorDetails {
  /** The HTTP status, or 0 when there was no response. */
  status: number;
  issues?: BelayIssue[];
  /** The `X-Request-Id` of the response, by which the server's log can be searched. */
  requestId?: string;
  /** How long the server requires to wait before a retry. */
  retryAfterMilliseconds?: number;
  cause?: unknown;
}

/** The only error that the methods of the SDK throw. */
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

/** Returns whether a caught value is an error of the SDK, and has the code when one is given. */
export function isBelayError<Code extends BelayErrorCode>(
  error: unknown,
  code?: Code,
): error is BelayError & { readonly code: Code } {
  return error instanceof BelayError && (code === undefined || error.code === code);
}
