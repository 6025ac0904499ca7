import { Retryable, Terminal } from '../errors.js';

/** Where the details of a failed call are: for the log, as the cause. The SDK's own error has the request, so it is not kept. */
export class AwsFault extends Error {
  override readonly name = 'AwsFault';
  constructor(
    message: string,
    readonly detail: { operation: string; error?: string; status?: number; code?: string },
  ) {
    super(message);
  }
}

/** What the call names does not exist. */
export class NotFound extends Terminal {}

/** Another operation for the same object is running, or too many are. */
export class Conflict extends Retryable {}

/** AWS has no room for another call. */
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
/** A pause that AWS does not name: its limits are for a second. */
const usualWait = 1_000;

/** Converts what the SDK throws. The message names the operation at most: the rest stays in the cause. */
export function explain(operation: string, error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const { name, status, code, reason, resource, wait } = read(error);
  const fault = new AwsFault(name, { operation, error: name, ...(status && { status }), ...(code && { code }) });
  const options = { cause: fault };
  if (throttled.test(name) || status === 429) {
    return new Throttled('AWS is handling too many requests', { ...options, afterMilliseconds: wait ?? usualWait });
  }
  // The store is encrypted with a key that cannot be used: that says nothing about what is in it.
  if (reason.startsWith('KMS_')) return new Retryable('AWS cannot use the key of its identity store', options);
  if (name === 'ConflictException') return new Conflict('AWS is working on another change', options);
  if (name === 'ServiceQuotaExceededException') return new Retryable('AWS has reached a quota', options);
  if (name === 'ResourceNotFoundException') {
    // Without its store, nothing is known of a user or a group.
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
  /** Why, where AWS has a word for it. */
  reason: string;
  /** What kind of thing was not found. */
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
