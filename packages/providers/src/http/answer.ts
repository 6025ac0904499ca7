import type { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';

/** What a provider answered: the headers by their names in lower case, and the body's JSON, undefined when there is none. */
export interface HttpAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** Returns the provider's own time, as an answer has it. */
export function timeOf({ headers }: Pick<HttpAnswer, 'headers'>): number | undefined {
  const time = Date.parse(headers.date ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Where the details of a failed call are: for the log, as the cause of what is thrown. It has no header, query or body. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  constructor(
    message: string,
    readonly detail: { method: string; path: string; status?: number; code?: string; issues?: readonly string[] },
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

/** Which call an answer belongs to, and whose it is; the path is without its query, which may have a cursor or a name. */
export interface Asked {
  service: string;
  method: string;
  path: string;
}

/** Returns the body as the schema has it. Throws `Retryable` when it is anything else: a proxy or a page in between. */
export function parseAnswer<T>(schema: z.ZodType<T>, body: unknown, { service, method, path }: Asked): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  // The places of the issues, not their messages: these can repeat what the provider sent.
  const issues = result.error.issues.slice(0, 5).map((issue) => `${issue.path.join('.')}: ${issue.code}`);
  const cause = new HttpFault('the response has another shape', { method, path, issues });
  throw new Retryable(`${service} returned a response that its API does not document`, { cause });
}

/**
 * Returns what an answer that the caller does not expect comes to. Only the status decides: what the provider wrote is not for
 * requesters to read. `wait` is how long it demands to be left alone, in milliseconds.
 */
export function explainStatus(answer: HttpAnswer, asked: Asked, wait: number | undefined): Retryable | Terminal {
  const { service, method, path } = asked;
  const { status } = answer;
  const cause = new HttpFault(`status ${status}`, { method, path, status });
  const options = { cause, ...(wait === undefined ? {} : { afterMilliseconds: wait }) };
  if (status === 429 || (wait !== undefined && status >= 400)) {
    return new Retryable(`${service} is handling too many requests`, options);
  }
  if (status === 408 || status === 425) return new Retryable(`${service} did not accept the request in time`, options);
  if (status === 409 || status === 412) return new Retryable(`${service} was changed at the same time`, options);
  if (status >= 500) return new Retryable(`${service} is temporarily unavailable (${status})`, options);
  if (status === 401) return new Terminal(`${service} does not accept the connector's credentials`, options);
  if (status === 403) return new Terminal(`${service} does not permit this to the connector`, options);
  if (status === 404 || status === 410)
    return new Terminal(`${service} has nothing under this name (${status})`, options);
  if (status >= 300 && status < 400) return new Terminal(`${service} redirects, which is not followed`, options);
  return new Terminal(`${service} rejected the request (${status})`, options);
}

/** Errors of TLS: the server's certificate, or ours. */
const certificate = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|SSL|EPROTO/;

/** Returns what it comes to that there was no whole answer. */
export function explainSilence(error: unknown, { service, method, path }: Asked): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const code = codeOf(error);
  const cause = new HttpFault('no response', { method, path, code }, { cause: error });
  // An operator mends a certificate while access is held: the call is worth repeating.
  if (certificate.test(code)) return new Retryable(`No secure connection to ${service} could be made`, { cause });
  return new Retryable(`${service} cannot be reached`, { cause });
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code, cause } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : codeOf(cause);
}
