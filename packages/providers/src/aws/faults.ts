import { Retryable, Terminal } from '../errors.js';

/** The details of a failed call, as the cause for the log. The SDK's own error contains the request, so it is not kept. */
export class AwsFault extends Error {
  override readonly name = 'AwsFault';
  constructor(
    message: string,
    readonly detail: { operation: string; error?: string; status?: number; code?: string },
  ) {
    super(message);
  }
}

/** The object that the call names does not exist. */
export class NotFound extends Terminal {}

/** Another operation for the same object is running, or too many operations are running. */
export class Conflict extends Retryable {}

/** AWS throttles the call. */
export class Throttled extends Retryable {}

/** The credentials lack the permission for an operation. */
export class Denied extends Terminal {
  constructor(
    readonly operation: string,
    options: { cause?: unknown },
  ) {
    super(`AWS does not permit the connector to call ${operation}`, options);
  }
}

const throttled = /Throttl|TooManyRequests|RequestLimitExceeded|SlowDown/;
const late = /RequestTimeTooSkewed|RequestExpired/;
const unknownCredentials =
  /ExpiredToken|UnrecognizedClient|InvalidClientToken|InvalidAccessKey|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthentication/;
const denied = /AccessDenied|NotAuthorized|UnauthorizedOperation/;
/** The pause in milliseconds when AWS does not state one: its limits are per second. */
const usualWait = 1_000;

/** Converts an error of the SDK. The message names at most the operation: other details are in the cause. */
export function explain(operation: string, error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const { name, status, code, reason, resource, wait } = read(error);
  const fault = new AwsFault(name, { operation, error: name, ...(status && { status }), ...(code && { code }) });
  const options = { cause: fault };
  if (throttled.test(name) || status === 429) {
    return new Throttled('AWS is handling too many requests', { ...options, afterMilliseconds: wait ?? usualWait });
  }
  // AWS cannot decrypt the store, so the error does not mean that the object is missing.
  if (reason.startsWith('KMS_')) return new Retryable('AWS cannot use the key of its identity store', options);
  if (name === 'ConflictException') return new Conflict('AWS is working on another change', options);
  if (name === 'ServiceQuotaExceededException') return new Retryable('AWS has reached a quota', options);
  if (name === 'ResourceNotFoundException') {
    // A missing store does not mean that the user or group is missing.
    if (resource === 'IDENTITY_STORE') return new Terminal('AWS does not have the identity store', options);
    return new NotFound('AWS has nothing under this name', options);
  }
  if (name === 'CredentialsProviderError') return new Retryable('No AWS credentials were found', options);
  if (late.test(name)) return new Retryable('AWS received the request too late', options);
  if (unknownCredentials.test(name)) return new Terminal("AWS does not accept the connector's credentials", options);
  if (denied.test(name) || status === 401 || status === 403) return new Denied(operation, options);
  if (status === undefined) return new Retryable('AWS cannot be reached', options);
  if (status >= 500) return new Retryable(`AWS is temporarily unavailable (${status})`, options);
  if (status < 300) return new Retryable('AWS returned a response that its API does not document', options);
  return new Terminal(`AWS rejected the request (${status})`, options);
}

interface Read {
  name: string;
  status?: number | undefined;
  code?: string;
  /** AWS's code for the reason; empty when the error has no such code. */
  reason: string;
  /** The type of the resource that was not found; empty for other errors. */
  resource: string;
  /** The pause that AWS requests, in milliseconds. */
  wait?: number;
}

function read(error: unknown): Read {
  if (!(error instanceof Error)) return { name: 'Error', reason: '', resource: '' };
  const { name, code, Reason, ResourceType, RetryAfterSeconds, $metadata, $response } = error as Error & {
    code?: unknown;
    Reason?: unknown;
    ResourceType?: unknown;
    RetryAfterSeconds?: unknown;
    $metadata?: { httpStatusCode?: number };
    $response?: { statusCode?: number; headers?: Record<string, string> };
  };
  const seconds = Number(RetryAfterSeconds ?? $response?.headers?.['retry-after'] ?? Number.NaN);
  return {
    name,
    status: $metadata?.httpStatusCode ?? $response?.statusCode,
    ...(typeof code === 'string' && { code }),
    reason: String(Reason ?? ''),
    resource: String(ResourceType ?? ''),
    ...(Number.isFinite(seconds) && seconds >= 0 && { wait: seconds * 1_000 }),
  };
}
