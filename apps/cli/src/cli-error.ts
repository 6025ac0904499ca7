import type { BelayErrorCode, BelayIssue } from '@belay/sdk';
import { type ExitCode, exitCodes } from './exit-codes.js';

/** `usage`, `failed` and `ended_without_access` belong to the command line; the others are the codes of the SDK. */
export type CliErrorCode = BelayErrorCode | 'usage' | 'failed' | 'ended_without_access';

/** The error that a command throws when the error does not come from the SDK. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly code: CliErrorCode,
    message: string,
    readonly options: { issues?: BelayIssue[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
  }
}

/** Returns the error for wrong arguments, or for a missing confirmation. */
export function usage(message: string): CliError {
  return new CliError('usage', message);
}

const exitCodeOf: Record<CliErrorCode, ExitCode> = {
  usage: exitCodes.usage,
  invalid: exitCodes.usage,
  unauthenticated: exitCodes.notSignedIn,
  forbidden: exitCodes.refused,
  not_found: exitCodes.notFound,
  conflict: exitCodes.conflict,
  held_outside: exitCodes.conflict,
  unavailable: exitCodes.unavailable,
  too_many_requests: exitCodes.unavailable,
  network: exitCodes.unavailable,
  not_configured: exitCodes.failed,
  internal: exitCodes.failed,
  failed: exitCodes.failed,
  ended_without_access: exitCodes.endedWithoutAccess,
  aborted: exitCodes.interrupted,
};

/** Returns the exit code of an error. */
export function toExitCode(code: CliErrorCode): ExitCode {
  return exitCodeOf[code];
}
