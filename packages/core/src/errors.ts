export const errorCodes = [
  'not_found',
  'forbidden',
  'unauthenticated',
  'invalid',
  'conflict',
  'unavailable',
  'too_many_requests',
  'held_outside',
  'not_configured',
  'internal',
] as const;
/** Every way a verb can fail; the one mapping to the wire is in packages/api (design §11). */
export type ErrorCode = (typeof errorCodes)[number];

export interface ErrorIssue {
  /** Which field, as in `input.providers[0]`; empty for the whole input. */
  path: string;
  message: string;
}

/** The one error a verb throws on purpose. Its message goes to the caller: no internals; those belong in `cause`. */
export class AccessError extends Error {
  override readonly name = 'AccessError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly options: {
      issues?: ErrorIssue[];
      /** When another try may succeed, in seconds. */
      retryAfter?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
  }

  get issues(): ErrorIssue[] | undefined {
    return this.options.issues;
  }
}

/** Refused because of one field of the input: 400 with `issues`. */
export function invalid(path: string, message: string): AccessError {
  return new AccessError('invalid', message, { issues: [{ path, message }] });
}

/** Returns the same error with its fields called what this caller calls them; anything else is returned as it is. */
export function renameIssues(error: unknown, rename: (path: string) => string): unknown {
  if (!(error instanceof AccessError) || error.issues === undefined) return error;
  const issues = error.issues.map(({ path, message }) => ({ path: rename(path), message }));
  return new AccessError(error.code, error.message, { ...error.options, issues });
}

/** Unknown, or not visible to the caller: the two look alike on purpose. */
export function notFound(what: string): AccessError {
  return new AccessError('not_found', `${what} was not found`);
}
