import * as client from 'openid-client';
import { guardBy, refuseWhenAborted } from '../abort.js';
import { AboutPerson, Retryable, Terminal } from '../errors.js';
import type { Authenticator, ProviderTokens } from '../port.js';
import { readClaims } from './claims.js';
import type { OidcConfig } from './config.js';
import { toPortError, toRenewalError } from './faults.js';
import type { Issuer } from './issuer.js';
import { readLogoutToken } from './logout-token.js';
import { rereadClaims } from './reread.js';

const guarded = guardBy(toPortError);

/**
 * Creates the authenticator for the authorization code flow with PKCE (OpenID Connect Core 3.1, RFC 7636). It keeps no
 * state between the two calls.
 */
export function createAuthenticator(config: OidcConfig, issuer: Issuer): Authenticator {
  return {
    issuer: config.issuer,

    authorizationUrl: (request, signal) =>
      guarded(signal, async () => {
        refuseUnusable(request.redirectUri);
        const scopes = new Set(['openid', ...(request.scopes ?? config.scopes)]);
        return client.buildAuthorizationUrl(await issuer.configuration(), {
          ...config.authorization_parameters,
          redirect_uri: request.redirectUri,
          scope: [...scopes].join(' '),
          state: request.state,
          nonce: request.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(request.codeVerifier),
          code_challenge_method: 'S256',
        });
      }),

    exchange: (currentUrl, expected, signal) =>
      guarded(signal, async () => {
        refuseUnusable(expected.redirectUri);
        const configuration = await issuer.configuration();
        refuseWhenAborted(signal);
        // The issuer compares the redirect URI with that of the authorization request; behind a proxy, the address of this
        // request can differ from it.
        const callback = new URL(expected.redirectUri);
        callback.search = currentUrl.search;
        const tokens = await client.authorizationCodeGrant(configuration, callback, {
          expectedState: expected.state,
          expectedNonce: expected.nonce,
          pkceCodeVerifier: expected.codeVerifier,
          idTokenExpected: true,
        });
        const idToken = tokens.claims();
        if (!idToken) throw new Terminal('The identity provider returned no ID token');
        const userInfo = configuration.serverMetadata().userinfo_endpoint
          ? await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub)
          : {};
        return {
          ...readClaims(idToken, userInfo, config),
          tokens: toPortTokens(tokens),
        };
      }),

    refresh: ({ refreshToken, subject, idToken: earlier }, signal) =>
      guarded(
        signal,
        async () => {
          const configuration = await issuer.configuration();
          const tokens = await client.refreshTokenGrant(configuration, refreshToken);
          // OpenID Connect Core 12.2: an ID token is optional here, but it must be about the same person.
          const idToken = tokens.claims();
          if (idToken && idToken.sub !== subject)
            throw new AboutPerson('The identity provider returned another person');
          const request = { accessToken: tokens.access_token, subject, idToken, earlier };
          const person = await rereadClaims(config, configuration, request).catch((error: unknown) => {
            const fault = toRenewalError(error);
            // The refresh token may be used up, so the new tokens are kept even when the other calls fail.
            if (fault instanceof Retryable) return undefined;
            throw fault;
          });
          return { tokens: toPortTokens(tokens), ...(person ? { person } : {}) };
        },
        toRenewalError,
      ),

    reread: ({ tokens, subject }, signal) =>
      guarded(
        signal,
        async () => {
          if (tokens.accessToken === undefined) return null;
          const request = { accessToken: tokens.accessToken, subject, earlier: tokens.idToken };
          return (await rereadClaims(config, await issuer.configuration(), request)) ?? null;
        },
        toRenewalError,
      ),

    readLogout: (token, now, signal) =>
      guarded(signal, async () => {
        const { issuer: name, jwks_uri: keys } = (await issuer.configuration()).serverMetadata();
        if (keys === undefined) throw new Terminal('The identity provider publishes no keys');
        return readLogoutToken(token, { issuer: name, clientId: config.client_id, keys, now });
      }),
  };
}

function toPortTokens(tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers): ProviderTokens {
  const expiresIn = tokens.expiresIn();
  const sid = tokens.claims()?.sid;
  return {
    accessToken: tokens.access_token,
    ...(tokens.refresh_token === undefined ? {} : { refreshToken: tokens.refresh_token }),
    ...(tokens.id_token === undefined ? {} : { idToken: tokens.id_token }),
    ...(typeof sid === 'string' && sid !== '' ? { sid } : {}),
    ...(expiresIn === undefined ? {} : { expiresInMilliseconds: expiresIn * 1000 }),
  };
}

/**
 * Throws `Terminal` for a redirect URI that is not a URL or has a query or fragment: openid-client reads a query in the
 * callback as the response.
 */
function refuseUnusable(redirectUri: string): void {
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  if (!url || url.search || url.hash) throw new Terminal('The redirect URI must be a URL without a query or fragment');
}
