import type { BelayErrorCode, BelayIssue } from '@belay/sdk';
import { type ExitCode, exitCodes } from './exit-codes.js';

/** `usage` is the command line's own; everything else is what the SDK throws. */
export type CliErrorCode = BelayErrorCode | 'usage' | 'failed';

/** A failure with its exit code: what a command throws when the SDK has nothing to throw. */
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

/** Wrong arguments, or a question that nobody is there to answer. */
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
  aborted: exitCodes.interrupted,
};

/** The exit code of a failure; one table, next to the codes. */
export function toExitCode(code: CliErrorCode): ExitCode {
  return exitCodeOf[code];
}
