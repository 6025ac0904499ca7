import { Retryable, Terminal } from '../errors.js';
import type { Explain } from './attempt.js';

/** gRPC codes of errors from Google's clients, as the HTTP statuses that they stand for. */
const rpcStatuses: Record<number, number> = {
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  8: 429,
  9: 400,
  13: 500,
  14: 503,
  16: 401,
};

/** Returns the HTTP status of an error from a vendor's client; undefined when there was no response. */
function statusOf(error: unknown): number | undefined {
  if (error === null || typeof error !== 'object') return undefined;
  const { $metadata, statusCode, status, code, cause } = error as Record<string, unknown>;
  const nested = ($metadata as { httpStatusCode?: unknown } | undefined)?.httpStatusCode;
  for (const found of [nested, statusCode, status, code]) {
    if (typeof found !== 'number') continue;
    const known = rpcStatuses[found] ?? found;
    if (known >= 300 && known < 600) return known;
  }
  return cause === undefined ? undefined : statusOf(cause);
}

/** AWS sends some of these with status 400. */
const busy = /Throttl|LimitExceeded|KMSInternal|DependencyTimeout|InternalService|TooManyRequests/;
const forbidden =
  /AccessDenied|UnrecognizedClient|InvalidSignature|ExpiredToken|InvalidClientToken|CredentialsProvider|CredentialUnavailable|AuthenticationRequired/;
const missing = /NotFound/;

/**
 * Converts an error of a vendor's client. The message names the service and the kind of failure, and nothing from the
 * vendor. An error without a response is `Retryable`, unless the vendor's library found no valid credentials.
 */
export function explainFaults(service: string): Explain {
  return (error) => {
    if (error instanceof Retryable || error instanceof Terminal) return error;
    const name = error instanceof Error ? error.name : '';
    const status = statusOf(error);
    if (busy.test(name)) return new Retryable(`${service} is handling too many requests`);
    if (forbidden.test(name)) return refused(service);
    if (missing.test(name)) return new Terminal(`${service} has no secret with this name`);
    return explainStatus(service, status);
  };
}

/** Converts an HTTP status to an error; undefined means no response. */
export function explainStatus(service: string, status: number | undefined): Retryable | Terminal {
  if (status === undefined) return new Retryable(`${service} cannot be reached`);
  if (status === 401 || status === 403) return refused(service);
  if (status === 404) return new Terminal(`${service} has no secret with this name`);
  if (status === 408 || status === 425 || status === 429)
    return new Retryable(`${service} is handling too many requests`);
  if (status >= 500) return new Retryable(`${service} is temporarily unavailable (${status})`);
  return new Terminal(
    `${service} rejected the request (${status}): it used another key, or the wrapped key failed its integrity check`,
  );
}

function refused(service: string): Terminal {
  return new Terminal(`${service} rejected our credentials, or they do not permit this operation`);
}
