import { codeOfStatus, errorCodes } from '@belay/contract/errors';
import { BelayError, type BelayIssue } from '../errors.js';

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readIssues(value: unknown): BelayIssue[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const issues = value.flatMap((issue: unknown) =>
    isObject(issue) && typeof issue.message === 'string'
      ? [{ path: typeof issue.path === 'string' ? issue.path : '', message: issue.message }]
      : [],
  );
  return issues.length > 0 ? issues : undefined;
}

/**
 * `Retry-After` in milliseconds: seconds, or a date measured against the answer's own `Date`, so no clock is needed.
 */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const wait = Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** What tRPC says of a procedure that the router does not have. */
const unknownProcedure = /^No procedure found on path "([\w.]+)"/;

export interface FailureSource {
  status: number;
  /** A tRPC error shape, the REST layer's `{message, code, issues}`, or anything else. */
  body: unknown;
  headers?: Headers;
}

/** Turns an answer that is not a success into the SDK's error. Understands what both doors of the server answer. */
export function readFailure(source: FailureSource): BelayError {
  const envelope = isObject(source.body) && isObject(source.body.error) ? source.body.error : source.body;
  const shape = isObject(envelope) ? envelope : {};
  const data = isObject(shape.data) ? shape.data : {};
  const status = typeof data.httpStatus === 'number' ? data.httpStatus : source.status;
  const named = typeof data.reason === 'string' ? errorCodes.find((code) => code === data.reason) : undefined;
  const said = typeof shape.message === 'string' ? shape.message : `the server returned status ${status}`;
  const unknown = unknownProcedure.exec(said)?.[1];
  const byStatus = codeOfStatus(status) ?? 'network';
  // Not a thing that is not there, but a server that cannot: it is of another version.
  const code = unknown === undefined ? (named ?? byStatus) : 'not_configured';
  const message =
    unknown === undefined ? said : `the server does not know ${unknown}: the versions of client and server differ`;
  const requestId = source.headers?.get('x-request-id') ?? undefined;
  const retryAfterMilliseconds = source.headers && readRetryAfter(source.headers);
  return new BelayError(code, message, {
    status,
    issues: readIssues(data.issues ?? shape.issues),
    requestId,
    retryAfterMilliseconds,
  });
}
