import { AboutPerson, Retryable, Terminal } from '../errors.js';

/** Matches an error code of OAuth, which is safe to repeat in a message; other texts of the provider are not. */
const errorCode = /^[a-z_]{1,64}$/;

/**
 * Converts an error to an error of the port; its message contains nothing from the provider or the browser but an
 * error code.
 */
export function toPortError(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  // The error of fetch when there was no response, or none in time.
  const silent = error instanceof TypeError && ['fetch failed', 'terminated'].includes(error.message);
  const late = error instanceof DOMException && ['AbortError', 'TimeoutError'].includes(error.name);
  if (silent || late) return new Retryable('The identity provider cannot be reached', { cause: error });
  return new Terminal('The sign-in is not valid', { cause: error });
}

/**
 * Returns the error of a response, by its status or by its body, because some providers send it with status 200
 * (GitHub); undefined for a success.
 */
export function refusal(status: number, body: unknown): Retryable | Terminal | undefined {
  if (status >= 500 || status === 429 || status === 408)
    return new Retryable('The identity provider cannot be reached');
  const code = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  if (status >= 200 && status < 300 && (code === undefined || code === null)) return undefined;
  const about = overs.includes(String(code)) || (status === 401 && (code === undefined || code === 'invalid_token'));
  return new (about ? AboutPerson : Terminal)(`The identity provider rejected the sign-in${named(code)}`);
}

/** The token endpoint's codes for a sign-in that it no longer accepts (RFC 6749, 5.2), and GitHub's own code. */
const overs = ['invalid_grant', 'access_denied', 'bad_refresh_token'];

/**
 * Converts an error of a later check of a sign-in. Only errors about the person are final: a rejection of our request,
 * or a response that cannot be read, tells nothing about the person and can be repaired.
 */
export function toRenewalError(error: unknown): Retryable | Terminal {
  const fault = toPortError(error);
  return fault instanceof Retryable || fault instanceof AboutPerson
    ? fault
    : new Retryable(fault.message, { cause: error });
}

function named(code: unknown): string {
  return typeof code === 'string' && errorCode.test(code) ? ` (${code})` : '';
}
