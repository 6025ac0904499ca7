import type { IncomingMessage } from 'node:http';
import type { Host, RequestContext, RequestInfo } from '@belay/api';
import { type Actor, type Context, invalid, isAgentCredential, type VerifiedLogin, verifyAgent } from '@belay/core';
import { type CookieNames, names, negotiate, readCookie, readCredential, stateOf } from '@belay/rest';

export interface Site {
  context: Context;
  host: Host;
  baseUrl: URL;
  cookies: CookieNames;
  /** Who a token proves; null for nobody. */
  verify(token: string): Promise<VerifiedLogin | null>;
}

/** Recognises the caller and makes the context of the request's procedures. Throws what verifying throws. */
export async function identify(
  site: Site,
  request: IncomingMessage,
  transport: RequestInfo['transport'],
): Promise<RequestContext> {
  const { token, viaCookie } = readCredential(request, site.cookies);
  const agent = token === null || viaCookie ? null : await findAgent(site, token);
  const login = token === null || agent !== null ? null : await findLogin(site, token, viaCookie);
  const state = stateOf(request);
  const actor: Actor | null = agent ?? login?.actor ?? null;
  if (actor?.kind === 'user') state.user = actor.email;
  if (actor?.kind === 'agent') state.user = `agent ${actor.name}`;
  const reply: RequestContext['reply'] = { headers: {}, cookies: [] };
  if (login !== null && viaCookie && token !== null && login.refreshed) {
    reply.cookies.push({ kind: 'login', value: token, expiresAt: login.expiresAt });
  }
  return {
    core: site.context,
    actor,
    token,
    reply,
    request: describe(site, request, transport, viaCookie),
    host: site.host,
  };
}

/** The agent of a credential; a browser's cookie is never one. */
async function findAgent(site: Site, token: string): Promise<Actor | null> {
  return isAgentCredential(token) ? verifyAgent(site.context, { token }) : null;
}

/** What is in a browser's cookie was put there by a sign-in in it: a program's token does not become a browser by its header. */
async function findLogin(site: Site, token: string, viaCookie: boolean): Promise<VerifiedLogin | null> {
  const login = await site.verify(token);
  return viaCookie && login?.kind !== 'browser' ? null : login;
}

function describe(
  site: Site,
  request: IncomingMessage,
  transport: RequestInfo['transport'],
  viaCookie: boolean,
): RequestInfo {
  const address = request.url ?? '/';
  const { accept } = request.headers;
  const query = address.indexOf('?');
  const accepts = negotiate(accept, ['application/json', 'text/html']) === 'text/html' ? 'html' : 'json';
  const info: RequestInfo = {
    id: stateOf(request).id,
    transport,
    method: request.method ?? 'GET',
    path: query < 0 ? address : address.slice(0, query),
    // Only sign-in reads it, so it is made when asked for.
    get url() {
      return new URL(`${site.baseUrl.origin}${address}`);
    },
    accepts,
    jsonRequested: transport === 'trpc' || (accepts === 'json' && names(accept, 'application/json')),
    viaCookie,
  };
  const fetchSite = request.headers['sec-fetch-site'];
  if (typeof fetchSite === 'string') info.secFetchSite = fetchSite;
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') info.idempotencyKey = requireKey(key);
  const webhook = readWebhook(request);
  if (webhook !== undefined) info.webhook = webhook;
  const secret = readCookie(request, site.cookies.flow);
  if (secret !== undefined && /^[\w-]{43}$/.test(secret)) info.browserSecret = secret;
  return info;
}

/** The headers of Standard Webhooks, when all are there once. */
function readWebhook({ headers }: IncomingMessage): RequestInfo['webhook'] {
  const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((part) => headers[`webhook-${part}`]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return undefined;
  return { id, timestamp, signature };
}

/** Visible ASCII, so that two writings of a key are two keys everywhere. Throws `invalid`. */
export function requireKey(key: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw invalid('Idempotency-Key', 'must be 1 to 200 visible ASCII characters');
}
