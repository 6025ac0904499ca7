import * as client from 'openid-client';
import { AboutPerson, Retryable, Terminal } from '../errors.js';

/** Matches an error code of OAuth, which is safe to repeat in a message; other texts of the issuer are not. */
const errorCode = /^[a-z_]{1,64}$/;

/**
 * Converts an error to an error of the port. Messages contain nothing from the issuer or the browser but an error
 * code.
 */
export function toPortError(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  if (error instanceof client.AuthorizationResponseError) {
    if (error.error === 'access_denied') return new Terminal('The identity provider denied the sign-in');
    if (error.error === 'temporarily_unavailable') {
      return new Retryable('The identity provider is temporarily unavailable', { cause: error });
    }
    return new Terminal(`The identity provider did not sign the person in${named(error.error)}`, { cause: error });
  }
  if (error instanceof client.ResponseBodyError) {
    if (mayPass(error.status)) return unavailable(error);
    return new Terminal(`The identity provider rejected the sign-in${named(error.error)}`, { cause: error });
  }
  if (error instanceof client.WWWAuthenticateChallengeError) {
    if (mayPass(error.status)) return unavailable(error);
    // RFC 6749, 5.2 for the client's credentials; RFC 6750, 3.1 for the token at the userinfo endpoint.
    const code = error.cause.map(({ parameters }) => parameters.error).find((one) => one !== undefined) ?? '';
    return new Terminal(`The identity provider rejected the credentials of this service${named(code)}`, {
      cause: error,
    });
  }
  if (error instanceof client.ClientError) {
    if (error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_ABORT') return unavailable(error);
    if (error.cause instanceof Response && mayPass(error.cause.status)) return unavailable(error);
    return new Terminal("The identity provider's response failed validation", { cause: error });
  }
  // The error of fetch when there was no response.
  if (error instanceof TypeError && error.message === 'fetch failed') return unavailable(error);
  return new Terminal('The sign-in is not valid', { cause: error });
}

/** The token endpoint's codes for a sign-in that it no longer accepts (RFC 6749, 5.2; OpenID Connect Core, 3.1.2.6). */
const overs = ['invalid_grant', 'access_denied', 'interaction_required', 'login_required', 'consent_required'];

/**
 * Converts an error of a later check of a sign-in. Only errors about the person are final: an expired client secret,
 * or a response that cannot be read, tells nothing about the person and can be repaired.
 */
export function toRenewalError(error: unknown): Retryable | Terminal {
  const fault = toPortError(error);
  if (fault instanceof Retryable || isAboutPerson(error)) return fault;
  return new Retryable(fault.message, { cause: error });
}

function isAboutPerson(error: unknown): boolean {
  if (error instanceof AboutPerson) return true;
  if (error instanceof client.ResponseBodyError) return overs.includes(error.error);
  if (error instanceof client.WWWAuthenticateChallengeError) {
    return error.status === 401 && error.cause.some(({ scheme }) => scheme.toLowerCase() === 'bearer');
  }
  if (!(error instanceof client.ClientError)) return false;
  if (error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return true;
  return error.cause instanceof Response && error.cause.status === 401;
}

function unavailable(cause: unknown): Retryable {
  return new Retryable('The identity provider cannot be reached', { cause });
}

function mayPass(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

function named(code: string): string {
  return errorCode.test(code) ? ` (${code})` : '';
}
