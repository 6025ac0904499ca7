import { type ErrorBody, publishedCodes } from '@belay/contract/errors';
import type { PublishedError } from './errors.js';
import { publishError, withIssues } from './errors.js';

/** Thrown for a request that the adapter rejects before any procedure is called. Its message goes to the caller. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly status: number,
    readonly body: ErrorBody,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(body.message);
  }
}

const codes: Readonly<Record<number, string>> = publishedCodes;

/** Returns a rejection with the code that belongs to its status. */
export function refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): Refusal {
  return new Refusal(status, withIssues(status, { message, code: codes[status] ?? 'BAD_REQUEST' }), headers);
}

/** Returns a rejection with status 400 that names the field. */
export function refuseField(path: string, message: string): Refusal {
  return new Refusal(400, { message: 'The request is not valid', code: 'BAD_REQUEST', issues: [{ path, message }] });
}

/** Returns the error that the caller may see for any value thrown while a request was answered. */
export function published(
  thrown: unknown,
): Omit<PublishedError, 'reason' | 'retryAfter'> & { headers: Readonly<Record<string, string>> } {
  if (thrown instanceof Refusal) return thrown;
  const { status, body, retryAfter } = publishError(thrown);
  return { status, body, headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) } };
}
