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

/** Returns `Retry-After` in milliseconds. A date is compared with the response's own `Date`, so that no clock is needed. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const wait = Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Matches tRPC's message for a procedure that the router does not have. */
const unknownProcedure = /^No procedure found on path "([\w.]+)"/;

export interface FailureSource {
  status: number;
  /** An error of tRPC, an error of the REST layer (`{message, code, issues}`), or any other body. */
  body: unknown;
  headers?: Headers;
}

/** Converts a response that is not a success into the SDK's error. Understands the errors of both APIs of the server. */
export function readFailure(source: FailureSource): BelayError {
  const envelope = isObject(source.body) && isObject(source.body.error) ? source.body.error : source.body;
  const shape = isObject(envelope) ? envelope : {};
  const data = isObject(shape.data) ? shape.data : {};
  const status = typeof data.httpStatus === 'number' ? data.httpStatus : source.status;
  const named = typeof data.reason === 'string' ? errorCodes.find((code) => code === data.reason) : undefined;
  const said = typeof shape.message === 'string' ? shape.message : `the server returned status ${status}`;
  const unknown = unknownProcedure.exec(said)?.[1];
  const byStatus = codeOfStatus(status) ?? 'network';
  // `not_found` would mean a missing resource; a missing procedure means a server of another version.
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
