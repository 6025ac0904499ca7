import { AccessError, type ErrorCode, type ErrorIssue, isOutage, outageMessage, pathText } from '@belay/core/agent';
import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';

type Issue = ZodError['issues'][number];

type RpcCode = TRPCError['code'];

/** The one table of design §11: what a verb throws, tRPC's code for it (the `code` of an error body) and the HTTP status. */
export const errorTable: Readonly<Record<ErrorCode, { rpc: RpcCode; status: number }>> = {
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
};

/** Codes that come from the transport and not from a verb. Anything that is in neither table is a 500. */
const transportTable: Readonly<Partial<Record<RpcCode, { reason: ErrorCode; status: number }>>> = {
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
};

/** The body of every error of the REST interface (design §14.7). */
export interface ErrorBody {
  message: string;
  code: string;
  issues?: ErrorIssue[];
}

export interface PublishedError {
  status: number;
  /** The code of the verb's error, so that the SDK can give back the same one. */
  reason: ErrorCode;
  body: ErrorBody;
  /** When another try may succeed, in seconds. */
  retryAfter?: number;
}

/** What a caller reads when something failed that we did not foresee; the cause is in the log, under the request's id. */
export const internalMessage = 'Something went wrong on our side; the log has it under the id of this request';

/** True when an error was thrown on purpose, for the caller to read; anything else is ours to fix and belongs in the log. */
export function isForeseen(error: unknown): boolean {
  return publishError(error).status !== 500;
}

/** Turns whatever was thrown into what may leave the house: status, and a body without internals. Never throws. */
export function publishError(thrown: unknown): PublishedError {
  const access = thrown instanceof AccessError ? thrown : causeOf(thrown);
  if (access instanceof AccessError) return publishAccessError(access);
  if (isOutage(thrown)) return publishAccessError(new AccessError('unavailable', outageMessage));
  if (!(thrown instanceof TRPCError)) return internal();
  const entry = transportTable[thrown.code];
  if (entry === undefined) return internal();
  if (thrown.code === 'BAD_REQUEST' && thrown.cause instanceof ZodError) {
    const issues = thrown.cause.issues.flatMap(published);
    return {
      status: 400,
      reason: 'invalid',
      body: { message: 'The request is not valid', code: 'BAD_REQUEST', issues },
    };
  }
  return {
    status: entry.status,
    reason: entry.reason,
    body: withIssues(entry.status, { message: thrown.message, code: thrown.code }),
  };
}

/** A 400 has issues always: what is about no field in particular is about the whole request, whose path is empty. */
export function withIssues(status: number, body: ErrorBody): ErrorBody {
  return status === 400 && body.issues === undefined
    ? { ...body, issues: [{ path: '', message: body.message }] }
    : body;
}

/** A field that is not known is named like any other, and not the object that it is in. */
function published(issue: Issue): ErrorIssue[] {
  const at = (more: readonly PropertyKey[]) => pathText([...issue.path, ...more]);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: at([key]), message: 'is not known here' }));
  return [{ path: at([]), message: inWords(issue) }];
}

/** What is missing or empty is so for people and programs; anything else zod says well enough. */
function inWords(issue: Issue): string {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) return 'is required';
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'may not be empty';
  return issue.message;
}

/** The same as tRPC sends it: `code` is JSON-RPC's number, which tRPC has found already. */
export function shapeError<Code extends number>(code: Code, error: unknown) {
  const { status, reason, body } = publishError(error);
  const issues = body.issues === undefined ? {} : { issues: body.issues };
  return { code, message: body.message, data: { code: body.code, httpStatus: status, reason, ...issues } };
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof TRPCError ? thrown.cause : undefined;
}

function publishAccessError(error: AccessError): PublishedError {
  if (error.code === 'internal') return internal();
  const { rpc, status } = errorTable[error.code];
  const issues = error.issues;
  const body: ErrorBody = { message: error.message, code: rpc };
  if (issues !== undefined) body.issues = issues;
  const [only, ...others] = issues ?? [];
  // `is required` alone says nothing to whoever reads only the message.
  if (only !== undefined && others.length === 0 && only.path !== '' && only.message === error.message) {
    body.message = `${only.path}: ${only.message}`;
  }
  const { retryAfter } = error.options;
  return {
    status,
    reason: error.code,
    body: withIssues(status, body),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

function internal(): PublishedError {
  return { status: 500, reason: 'internal', body: { message: internalMessage, code: 'INTERNAL_SERVER_ERROR' } };
}
