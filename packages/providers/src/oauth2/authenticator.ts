import { guardBy } from '../abort.js';
import { AboutPerson, Retryable, Terminal } from '../errors.js';
import type { Authenticator, ToldPerson } from '../port.js';
import { readPerson } from './claims.js';
import type { OAuth2Config } from './config.js';
import { toPortError, toRenewalError } from './faults.js';
import { askAllAs, askAs, requestTokens } from './requests.js';

const guarded = guardBy(toPortError);

/**
 * Creates the authenticator for the authorization code flow of plain OAuth 2.0 with PKCE (RFC 6749, 4.1; RFC 7636). It
 * keeps no state between the two calls.
 */
export function createAuthenticator(config: OAuth2Config): Authenticator {
  return {
    // Subjects come from the userinfo endpoint, so its address identifies the issuer.
    issuer: config.userinfo_endpoint,

    authorizationUrl: (request, signal) =>
      guarded(signal, async () => {
        // Loaded only here, because a server without an OAuth 2.0 provider does not need it.
        const { CodeChallengeMethod, OAuth2Client } = await import('arctic');
        return new OAuth2Client(config.client_id, null, request.redirectUri).createAuthorizationURLWithPKCE(
          config.authorization_endpoint,
          request.state,
          CodeChallengeMethod.S256,
          request.codeVerifier,
          request.scopes ?? config.scopes,
        );
      }),

    exchange: (currentUrl, expected, signal) =>
      guarded(signal, async () => {
        const grant = {
          grant_type: 'authorization_code',
          code: readCode(currentUrl.searchParams, expected.state),
          redirect_uri: expected.redirectUri,
          code_verifier: expected.codeVerifier,
        };
        const tokens = await requestTokens(config, grant, signal);
        return { ...(await readAll(config, tokens.accessToken, signal)), tokens };
      }),

    refresh: ({ refreshToken, subject }, signal) =>
      guarded(
        signal,
        async () => {
          const grant = { grant_type: 'refresh_token', refresh_token: refreshToken };
          const tokens = await requestTokens(config, grant, signal);
          const person = await readSame(config, tokens.accessToken, subject, signal).catch((error: unknown) => {
            const fault = toRenewalError(error);
            // The refresh token may be used up, so the new tokens are kept even when the other calls fail.
            if (fault instanceof Retryable) return undefined;
            throw fault;
          });
          return { tokens, ...(person ? { person } : {}) };
        },
        toRenewalError,
      ),

    reread: ({ tokens, subject }, signal) =>
      guarded(
        signal,
        async () =>
          tokens.accessToken === undefined ? null : await readSame(config, tokens.accessToken, subject, signal),
        toRenewalError,
      ),
  };
}

/** Reads the person from every endpoint. */
async function readAll(config: OAuth2Config, accessToken: string, signal: AbortSignal): Promise<ToldPerson> {
  const tell = (url: string | undefined) => url && askAs(accessToken, url, signal);
  const list = (url: string | undefined) => url && askAllAs(accessToken, url, signal);
  const [userInfo, emails, groups, organizations] = await Promise.all([
    tell(config.userinfo_endpoint),
    list(config.emails_endpoint),
    list(config.groups_endpoint),
    list(config.organizations_endpoint),
  ]);
  return readPerson(config, { userInfo, emails, groups, organizations });
}

/** Reads a person who is already known. Throws `AboutPerson` when it is another person. */
async function readSame(config: OAuth2Config, accessToken: string, subject: string, signal: AbortSignal) {
  const person = await readAll(config, accessToken, signal);
  if (person.subject !== subject) throw new AboutPerson('The identity provider returned another person');
  return person;
}

/** Returns the code of a response that belongs to our request (RFC 6749, 4.1.2). */
function readCode(answer: URLSearchParams, state: string): string {
  const [code, ...others] = answer.getAll('code');
  if (answer.getAll('state').join() !== state) throw new Terminal('The response does not belong to this sign-in');
  const error = answer.get('error');
  if (error === 'temporarily_unavailable') throw new Retryable('The identity provider is temporarily unavailable');
  if (error !== null) throw new Terminal('The identity provider denied the sign-in');
  if (!code || others.length > 0) throw new Terminal("The identity provider's response has no code");
  return code;
}
