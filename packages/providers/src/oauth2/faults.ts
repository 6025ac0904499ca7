import { Retryable, Terminal } from '../errors.js';

/** An error code of OAuth, which is safe to repeat; anything else the provider wrote is not. */
const errorCode = /^[a-z_]{1,64}$/;

/** What went wrong, in the port's two words; nothing that the provider or the browser sent but an error code is in it. */
export function toPortError(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  // What fetch throws when there was no answer, or none in time.
  const silent = error instanceof TypeError && ['fetch failed', 'terminated'].includes(error.message);
  const late = error instanceof DOMException && ['AbortError', 'TimeoutError'].includes(error.name);
  if (silent || late) return new Retryable('The identity provider cannot be reached', { cause: error });
  return new Terminal('The sign-in is not valid', { cause: error });
}

/** The error of an answer, when it is one: of its status, or of its body, which some give with a 200 (GitHub). */
export function refusal(status: number, body: unknown): Retryable | Terminal | undefined {
  if (status >= 500 || status === 429 || status === 408)
    return new Retryable('The identity provider cannot be reached');
  const code = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  if (status >= 200 && status < 300 && (code === undefined || code === null)) return undefined;
  const about = overs.includes(String(code)) || (status === 401 && (code === undefined || code === 'invalid_token'));
  return new Refused(`The identity provider rejected the sign-in${named(code)}`, about);
}

/** What the token endpoint says of a sign-in that it no longer honours (RFC 6749, 5.2), GitHub's own word beside it. */
const overs = ['invalid_grant', 'access_denied', 'bad_refresh_token'];

/** A refusal, with whether it is about the person's sign-in or about how we ask. */
class Refused extends Terminal {
  constructor(
    message: string,
    readonly aboutPerson: boolean,
  ) {
    super(message);
  }
}

/** What went wrong when a sign-in was asked about later: final is only what is about the person. */
export function toRenewalError(error: unknown): Retryable | Terminal {
  const fault = toPortError(error);
  const final = fault instanceof Terminal && (fault instanceof Refused ? fault.aboutPerson : error === fault);
  return final ? fault : new Retryable(fault.message, { cause: error });
}

function named(code: unknown): string {
  return typeof code === 'string' && errorCode.test(code) ? ` (${code})` : '';
}
