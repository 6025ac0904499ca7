import type { IncomingMessage } from 'node:http';
import type { Host, RequestContext } from '@belay/api';
import { type Actor, type Context, isAgentCredential, type VerifiedLogin, verifyAgent } from '@belay/core';
import { type CookieNames, describeRequest, type RequestInfo, readCredential, stateOf } from '@belay/rest';

export interface Site {
  context: Context;
  host: Host;
  baseUrl: URL;
  cookies: CookieNames;
  /** Returns the person of a token; null when it is not valid. */
  verify(token: string): Promise<VerifiedLogin | null>;
}

/**
 * Identifies the caller and creates the context of the request's procedures; its `actor` is null without a valid
 * credential. Throws when the credential could not be checked, for example because of an outage.
 */
export async function identify(
  site: Site,
  request: IncomingMessage,
  transport: RequestInfo['transport'],
): Promise<RequestContext> {
  const { cookies, baseUrl } = site;
  const { token, viaCookie } = readCredential(request, cookies);
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
  const described = describeRequest(request, { origin: baseUrl.origin, cookies, transport, viaCookie });
  return { core: site.context, actor, token, reply, request: described, host: site.host };
}

/** Returns the agent of a credential, or null when the token is not the valid credential of an agent. */
async function findAgent(site: Site, token: string): Promise<Actor | null> {
  return isAgentCredential(token) ? verifyAgent(site.context, { token }) : null;
}

/** Returns the login of a token, or null when it is not valid. A token in a cookie must be that of a browser's login. */
async function findLogin(site: Site, token: string, viaCookie: boolean): Promise<VerifiedLogin | null> {
  const login = await site.verify(token);
  return viaCookie && login?.kind !== 'browser' ? null : login;
}

/** Returns the sign-in address with a callback to an address of this server. */
export function signInFor(site: { baseUrl: URL; basePath: string }, address: string): string {
  return `${site.basePath}/auth?${new URLSearchParams({ callback: `${site.baseUrl.origin}${address}` }).toString()}`;
}
