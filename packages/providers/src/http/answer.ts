import type { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';

/** A provider's response, with header names in lower case and the body parsed as JSON, or undefined when it is not JSON. */
export interface HttpAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** Returns the provider's own time at a response, in milliseconds since 1970; undefined without a valid `date`. */
export function timeOf({ headers }: Pick<HttpAnswer, 'headers'>): number | undefined {
  const time = Date.parse(headers.date ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** The details of a failed call, for the log, as the cause of the thrown error. They contain no header, query or body. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  constructor(
    message: string,
    readonly detail: {
      method: string;
      path: string;
      status?: number;
      code?: string;
      issues?: readonly string[];
      /** What the provider said of its reason, for operators only. */
      said?: string;
    },
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}

/** Returns what a provider said of the reason why it rejected a call; undefined when it said nothing that its connector reads. */
export function saidBy(error: unknown): string | undefined {
  return error instanceof Error && error.cause instanceof HttpFault ? error.cause.detail.said : undefined;
}

/** The call that a response belongs to. The path is without its query, which can contain a cursor or a name. */
export interface Asked {
  service: string;
  method: string;
  path: string;
}

/** Returns the body parsed by the schema. Throws `Retryable` when it does not match, for example when a proxy responded. */
export function parseAnswer<T>(schema: z.ZodType<T>, body: unknown, { service, method, path }: Asked): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  // The paths and codes of the issues, not their messages, which can repeat what the provider sent.
  const issues = result.error.issues.slice(0, 5).map((issue) => `${issue.path.join('.')}: ${issue.code}`);
  const cause = new HttpFault('the response has another shape', { method, path, issues });
  throw new Retryable(`${service} returned a response that its API does not document`, { cause });
}

/**
 * Converts an unexpected response into an error. Only its status and `wait` decide, because requesters must not read
 * the provider's text. `wait` is the pause that the provider demands, in milliseconds; with it, the error is
 * `Retryable` for every status from 400 on. `said` is the provider's text for operators.
 */
export function explainStatus(
  answer: HttpAnswer,
  asked: Asked,
  { wait, said }: { wait?: number | undefined; said?: string | undefined },
): Retryable | Terminal {
  const { service, method, path } = asked;
  const { status } = answer;
  const cause = new HttpFault(`status ${status}`, { method, path, status, ...(said === undefined ? {} : { said }) });
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

/** Matches the codes of TLS errors, for example when the certificate of the server or of the client is not accepted. */
const certificate = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|SSL|EPROTO/;

/** Converts the error of a call that got no complete response. */
export function explainSilence(error: unknown, { service, method, path }: Asked): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const code = codeOf(error);
  const cause = new HttpFault('no response', { method, path, code }, { cause: error });
  // An operator can replace a certificate while access is held, so the call is repeated.
  if (certificate.test(code)) return new Retryable(`No secure connection to ${service} could be made`, { cause });
  return new Retryable(`${service} cannot be reached`, { cause });
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code, cause } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : codeOf(cause);
}
