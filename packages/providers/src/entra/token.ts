import { createHash, createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { parseAnswer } from '../http/answer.js';
import { type HttpClient, path } from '../http/client.js';
import type { FetchedToken } from '../http/tokens.js';
import { type Certificate, type EntraConfig, thumbprintOf } from './config.js';

const tokenSchema = z.object({ access_token: z.string().min(1), expires_in: z.coerce.number().positive() });
const refusalSchema = z.object({ error: z.string(), error_codes: z.array(z.number()).optional() });
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const assertionSeconds = 300;

/** Messages for Entra's error codes of a rejected token request, for those that an operator can correct. */
const meanings: Record<number, string> = {
  7000215: "Entra does not accept the connector's client secret",
  7000222: "The connector's client secret has expired at Entra",
  700016: 'The tenant has no application with this client ID',
  90002: 'Entra has no such tenant',
  700027: "Entra does not accept the connector's certificate: upload it to the app registration",
  53003: 'A Conditional Access policy does not let the connector sign in',
};

/**
 * Fetches an access token of the app for one of the APIs, with the app's secret or an assertion that the key of its
 * certificate signs (RFC 7523, 2.2). Throws `Retryable` or `Terminal`.
 */
export async function fetchToken(
  config: EntraConfig,
  client: HttpClient,
  now: () => number,
  api: string,
  signal: AbortSignal,
): Promise<FetchedToken> {
  const { tenant, client_id, client_secret, certificate } = config;
  const at = path`/${tenant}/oauth2/v2.0/token`;
  const proof: Record<string, string> = certificate
    ? { client_assertion_type: assertionType, client_assertion: await signAssertion(config, certificate, at, now()) }
    : { client_secret: client_secret ?? '' };
  const form = { grant_type: 'client_credentials', client_id, scope: `${api}/.default`, ...proof };
  const { status, body } = await client.send({ method: 'POST', path: at, form, accept: [400, 401, 403] }, signal);
  if (status >= 400) throw explain(body);
  const parsed = parseAnswer(tokenSchema, body, { service: 'Entra', method: 'POST', path: at });
  return { token: parsed.access_token, expiresInMilliseconds: parsed.expires_in * 1000 };
}

function signAssertion(config: EntraConfig, certificate: Certificate, at: string, now: number): Promise<string> {
  const { client_id: client, endpoints } = config;
  const seconds = Math.floor(now / 1000);
  // Entra requires an identifier in each assertion. Assertions of the same millisecond share one, which Entra accepts.
  const id = createHash('sha256').update(`${client} ${now}`).digest('base64url');
  return new SignJWT()
    .setProtectedHeader({ alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprintOf(certificate.pem) ?? '' })
    .setIssuer(client)
    .setSubject(client)
    .setAudience(new URL(at, endpoints.login).href)
    .setJti(id)
    .setNotBefore(seconds)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + assertionSeconds)
    .sign(createPrivateKey(certificate.private_key));
}

function explain(body: unknown): Retryable | Terminal {
  const { error, error_codes: codes = [] } = refusalSchema.safeParse(body).data ?? {};
  if (error === 'temporarily_unavailable') return new Retryable('Entra is temporarily unavailable');
  const known = codes.map((code) => meanings[code]).find((meaning) => meaning !== undefined);
  return new Terminal(known ?? "Entra does not accept the connector's client ID and credentials");
}

/** Returns the permissions in an app's token; undefined when the token cannot be read. */
export function readPermissions(token: string): string[] | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return z.object({ roles: z.array(z.string()).default([]) }).safeParse(payload).data?.roles;
  } catch {
    return undefined;
  }
}
