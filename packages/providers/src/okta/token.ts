import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { Terminal } from '../errors.js';
import { parseAnswer } from '../http/answer.js';
import type { HttpClient } from '../http/client.js';
import type { FetchedToken } from '../http/tokens.js';
import { algorithmOf, type OktaConfig } from './config.js';

const tokenSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Okta accepts assertions that are valid for at most an hour; ours is used immediately. */
const assertionSeconds = 300;
const asked = { service: 'Okta', method: 'POST', path: '/oauth2/v1/token' } as const;

/** The service app has not been granted a scope that was requested. */
export class MissingScope extends Terminal {
  override readonly name = 'MissingScope';
  constructor() {
    super('Okta does not grant the connector the scopes that it needs; belay doctor names them');
  }
}

/** Fetches an access token for the scopes, with an assertion that the service app's key signs (RFC 7523, 2.2). */
export async function fetchToken(
  config: OktaConfig,
  client: HttpClient,
  now: () => number,
  scopes: readonly string[],
  signal: AbortSignal,
): Promise<FetchedToken> {
  const form = {
    grant_type: 'client_credentials',
    scope: scopes.join(' '),
    client_assertion_type: assertionType,
    client_assertion: await signAssertion(config, now()),
  };
  const { status, body } = await client.send({ ...asked, form, family: 'token', accept: [400, 401] }, signal);
  if (status >= 400) throw explain(body);
  const { access_token: token, expires_in: seconds } = parseAnswer(tokenSchema, body, asked);
  return { token, expiresInMilliseconds: seconds * 1000 };
}

function signAssertion(config: OktaConfig, now: number): Promise<string> {
  const { client_id: client, key_id: kid, private_key: key } = config;
  const seconds = Math.floor(now / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: algorithmOf(key) ?? 'RS256', ...(kid === undefined ? {} : { kid }) })
    .setIssuer(client)
    .setSubject(client)
    .setAudience(new URL(asked.path, config.url).href)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + assertionSeconds)
    .sign(createPrivateKey(key));
}

function explain(body: unknown): Terminal {
  const error = z.object({ error: z.string() }).safeParse(body).data?.error;
  if (error === 'invalid_scope' || error === 'consent_required') return new MissingScope();
  if (error === 'invalid_dpop_proof') {
    return new Terminal('Okta requires proof of possession (DPoP) of the service app: turn this off in its settings');
  }
  return new Terminal("Okta does not accept the connector's client ID and key");
}
