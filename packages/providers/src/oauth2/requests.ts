import { Retryable, Terminal } from '../errors.js';
import { boundedFetch } from '../http/bounded-fetch.js';
import { nextLink } from '../http/pages.js';
import type { ProviderTokens } from '../port.js';
import { within } from '../within.js';
import type { OAuth2Config } from './config.js';
import { refusal } from './faults.js';

const requestMilliseconds = 10_000;
const mostPages = 20;
const ask = boundedFetch(1024 * 1024, 'manual');
// GitHub rejects requests without a User-Agent.
const headers = { accept: 'application/json', 'user-agent': 'belay' };

/**
 * Sends a request to the token endpoint. arctic's own client follows redirects with the credentials, and has limits on
 * neither time nor size.
 */
export async function requestTokens(
  config: OAuth2Config,
  grant: Record<string, string>,
  signal: AbortSignal,
): Promise<ProviderTokens & { accessToken: string }> {
  const body = new URLSearchParams(grant);
  const { client_id: id, client_secret: secret } = config;
  const basic = secret !== undefined && config.token_endpoint_auth_method === 'client_secret_basic';
  if (!basic) body.set('client_id', id);
  if (!basic && secret !== undefined) body.set('client_secret', secret);
  const credentials: Record<string, string> = basic ? { authorization: `Basic ${basicCredentials(id, secret)}` } : {};
  const answer = await askJson(config.token_endpoint, { method: 'POST', body, headers: credentials }, signal);
  return readTokens(answer.body);
}

/** Reads an endpoint with the access token. */
export async function askAs(accessToken: string, url: string, signal: AbortSignal): Promise<unknown> {
  return (await askJson(url, asBearer(accessToken), signal)).body;
}

const asBearer = (accessToken: string) => ({ headers: { authorization: `Bearer ${accessToken}` } });

/**
 * Reads all pages of a list with the access token; `Link` headers name the next page (RFC 8288). Throws `Terminal` when
 * a page is at another origin, which must not get the token, and when the pages repeat or are too many. A page that is
 * not a list is returned as it is.
 */
export async function askAllAs(accessToken: string, url: string, signal: AbortSignal): Promise<unknown> {
  const all: unknown[] = [];
  const seen = new Set<string>();
  for (let page: string | undefined = url; page !== undefined; ) {
    if (seen.has(page) || seen.size === mostPages || new URL(page).origin !== new URL(url).origin) {
      throw new Terminal("The identity provider's response failed validation");
    }
    seen.add(page);
    const { body, next }: Answer = await askJson(page, asBearer(accessToken), signal);
    if (!Array.isArray(body)) return body;
    all.push(...(body as unknown[]));
    page = next && new URL(next, page).href;
  }
  return all;
}

/**
 * Checks that a server responds. Throws `Retryable` for a status of 500 or more, and the error of fetch without a
 * response.
 */
export async function knock(url: string, signal: AbortSignal): Promise<void> {
  const { status } = await ask(url, { headers, signal: within(signal, requestMilliseconds) });
  if (status >= 500) throw new Retryable('The identity provider cannot be reached');
}

interface Answer {
  body: unknown;
  /** The address of the next page of a list, which may be relative. */
  next: string | undefined;
}

async function askJson(
  url: string,
  init: { method?: string; body?: URLSearchParams; headers: Record<string, string> },
  signal: AbortSignal,
): Promise<Answer> {
  const response = await ask(url, {
    ...init,
    headers: { ...headers, ...init.headers },
    signal: within(signal, requestMilliseconds),
  });
  const body: unknown = await response.json().catch(() => undefined);
  const refused = refusal(response.status, body);
  if (refused) throw refused;
  if (body === undefined) throw new Terminal("The identity provider's response failed validation");
  return { body, next: nextLink(response.headers.get('link') ?? '') };
}

async function readTokens(body: unknown): Promise<ProviderTokens & { accessToken: string }> {
  const { OAuth2Tokens } = await import('arctic');
  const data = typeof body === 'object' && body !== null ? body : {};
  const tokens = new OAuth2Tokens(data);
  const accessToken = tokens.accessToken();
  if (tokens.tokenType().toLowerCase() !== 'bearer' || !/^[\x21-\x7e]+$/.test(accessToken)) {
    throw new Terminal('The identity provider returned a token of an unsupported type');
  }
  // Some providers send the number as text.
  const seconds = 'expires_in' in data ? Number(data.expires_in) : Number.NaN;
  return {
    accessToken,
    ...(tokens.hasRefreshToken() ? { refreshToken: tokens.refreshToken() } : {}),
    ...(seconds > 0 && seconds < 1e9 ? { expiresInMilliseconds: seconds * 1000 } : {}),
  };
}

/** Returns the credentials of HTTP Basic; both parts are form-encoded first (RFC 6749, 2.3.1). */
function basicCredentials(id: string, secret: string): string {
  const encoded = [id, secret].map((part) => new URLSearchParams({ '': part }).toString().slice(1));
  return Buffer.from(encoded.join(':')).toString('base64');
}
