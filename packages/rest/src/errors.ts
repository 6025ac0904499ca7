import {
  AccessError,
  type ErrorBody,
  type ErrorCode,
  type ErrorIssue,
  errorTable,
  pathText,
  transportTable,
} from '@belay/contract/errors';
import { isOutage, isUnreachable, outageMessage } from '@belay/contract/outage';
import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';

type Issue = ZodError['issues'][number];

/** The same table, typed for every code of tRPC; some codes have no entry. */
const transport: Readonly<Partial<Record<TRPCError['code'], { reason: ErrorCode; status: number }>>> = transportTable;

export interface PublishedError {
  status: number;
  /** The code of the verb's error, so that the SDK can throw the same one. */
  reason: ErrorCode;
  body: ErrorBody;
  /** After how many seconds a retry can succeed. */
  retryAfter?: number;
}

/** The error message for an unexpected error; its cause is in the log, under the id of the request. */
export const internalMessage =
  'An internal error occurred; the log of the server has its cause under the id of this request';

/** Returns true for an error that the caller may read, or an outage; false for any other error, which is a defect and is logged. */
export function isForeseen(error: unknown): boolean {
  return publishError(error).status !== 500;
}

/** Returns the status and the body, without internals, for any thrown value. Never throws. */
export function publishError(thrown: unknown): PublishedError {
  const access = thrown instanceof AccessError ? thrown : causeOf(thrown);
  if (access instanceof AccessError) return publishAccessError(access);
  if (isOutage(thrown) || isUnreachable(thrown))
    return publishAccessError(new AccessError('unavailable', outageMessage));
  if (!(thrown instanceof TRPCError)) return internal();
  const entry = transport[thrown.code];
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

/** Returns a body that has `issues` if the status is 400: a message about no field becomes an issue with an empty path. */
export function withIssues(status: number, body: ErrorBody): ErrorBody {
  return status === 400 && body.issues === undefined
    ? { ...body, issues: [{ path: '', message: body.message }] }
    : body;
}

/** Returns the issues of a zod issue. The path of an unknown field is that of the field, not of the object that contains it. */
function published(issue: Issue): ErrorIssue[] {
  const at = (more: readonly PropertyKey[]) => pathText([...issue.path, ...more]);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: at([key]), message: 'is not a known field' }));
  return [{ path: at([]), message: inWords(issue) }];
}

/** Returns the message of an issue: our own for a missing or an empty field, otherwise that of zod. */
function inWords(issue: Issue): string {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) return 'is required';
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  return issue.message;
}

/** Returns an error in the shape of tRPC; `code` is the number of JSON-RPC that tRPC has chosen. */
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
  // A reader who sees only the message has to learn which field `is required`.
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
