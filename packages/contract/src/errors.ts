/**
 * Every error code of an operation, with its HTTP status and the tRPC `code` in the body of the error.
 */
export const errorTable = {
  invalid: { rpc: 'BAD_REQUEST', status: 400 },
  unauthenticated: { rpc: 'UNAUTHORIZED', status: 401 },
  forbidden: { rpc: 'FORBIDDEN', status: 403 },
  not_found: { rpc: 'NOT_FOUND', status: 404 },
  conflict: { rpc: 'CONFLICT', status: 409 },
  held_outside: { rpc: 'CONFLICT', status: 409 },
  unavailable: { rpc: 'SERVICE_UNAVAILABLE', status: 503 },
  too_many_requests: { rpc: 'TOO_MANY_REQUESTS', status: 429 },
  not_configured: { rpc: 'NOT_IMPLEMENTED', status: 501 },
  internal: { rpc: 'INTERNAL_SERVER_ERROR', status: 500 },
} as const;

export type ErrorCode = keyof typeof errorTable;

export const errorCodes = Object.keys(errorTable) as readonly ErrorCode[];

/** Codes that come from the transport and not from an operation. Anything that is in neither table is a 500. */
export const transportTable = {
  PARSE_ERROR: { reason: 'invalid', status: 400 },
  BAD_REQUEST: { reason: 'invalid', status: 400 },
  UNAUTHORIZED: { reason: 'unauthenticated', status: 401 },
  FORBIDDEN: { reason: 'forbidden', status: 403 },
  NOT_FOUND: { reason: 'not_found', status: 404 },
  METHOD_NOT_SUPPORTED: { reason: 'invalid', status: 405 },
  CONFLICT: { reason: 'conflict', status: 409 },
  PAYLOAD_TOO_LARGE: { reason: 'invalid', status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { reason: 'invalid', status: 415 },
  TOO_MANY_REQUESTS: { reason: 'too_many_requests', status: 429 },
  CLIENT_CLOSED_REQUEST: { reason: 'unavailable', status: 499 },
  NOT_IMPLEMENTED: { reason: 'not_configured', status: 501 },
  SERVICE_UNAVAILABLE: { reason: 'unavailable', status: 503 },
} as const satisfies Record<string, { reason: ErrorCode; status: number }>;

/**
 * HTTP statuses without an error code of their own: those that HTTP itself or a proxy in front of the server returns.
 */
const otherStatuses: Readonly<Record<number, ErrorCode>> = {
  406: 'invalid',
  412: 'conflict',
  414: 'invalid',
  421: 'invalid',
  422: 'invalid',
  502: 'unavailable',
  504: 'unavailable',
};

/** The `code` in the body of an error, by its HTTP status: everything that a REST client can read there. */
export const publishedCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  406: 'NOT_ACCEPTABLE',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  421: 'MISDIRECTED_REQUEST',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  501: 'NOT_IMPLEMENTED',
  503: 'SERVICE_UNAVAILABLE',
} as const;

/** Returns the error code of an HTTP status; undefined for a status without one, such as 302 or 418. */
export function codeOfStatus(status: number): ErrorCode | undefined {
  const row = Object.values(transportTable).find((each) => each.status === status);
  return row?.reason ?? otherStatuses[status] ?? (status >= 500 ? 'internal' : undefined);
}

/** One field of the input that is not valid. */
export interface ErrorIssue {
  /** Which field, as in `input.providers[0]`; empty for the whole input. */
  path: string;
  message: string;
}

/** The body of every error of the REST interface. */
export interface ErrorBody {
  message: string;
  code: string;
  issues?: ErrorIssue[];
}

/** The error that verbs throw on purpose. Callers read its message, so internals belong in `cause`. */
export class AccessError extends Error {
  override readonly name = 'AccessError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly options: {
      issues?: ErrorIssue[];
      /** Seconds after which a retry can succeed. */
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

/** Returns the error for one field that is not valid: 400 with `issues`. */
export function invalid(path: string, message: string): AccessError {
  return new AccessError('invalid', message, { issues: [{ path, message }] });
}

/** Returns the same error with its fields renamed for this caller; any other value is returned unchanged. */
export function renameIssues(error: unknown, rename: (path: string) => string): unknown {
  if (!(error instanceof AccessError) || error.issues === undefined) return error;
  const issues = error.issues.map(({ path, message }) => ({ path: rename(path), message }));
  return new AccessError(error.code, error.message, { ...error.options, issues });
}

/** Returns the error for something that does not exist or that the caller cannot see; the two cannot be told apart. */
export function notFound(what: string): AccessError {
  return new AccessError('not_found', `${what} was not found`);
}

/** Returns a path as `issues` contain it: `roles.admin.providers[0]`. Numbers are positions in a list. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
    '',
  );
}
