import type { IncomingMessage, ServerResponse } from 'node:http';
import { applyCookies, negotiate, refuse, sendHtml, sendOptions, sendRedirect } from '@belay/rest';
import { identify, type Site } from './identify.js';
import type { Pages } from './render.js';

/** Returns the path of the start page, which has no procedure and no JSON form. */
export function isHome(path: string, basePath: string): boolean {
  return path === '/' || path === `${basePath}/home`;
}

/** Sends the start page. Throws 405 and 406. */
export async function answerHome(
  site: Site & { basePath: string; pages: Pages },
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method === 'OPTIONS') return sendOptions(response, allow);
  if (!['GET', 'HEAD'].includes(request.method ?? ''))
    throw refuse(405, 'This path serves an HTML page only', { Allow: allow });
  const address = `${site.basePath}/home`;
  if (path !== address) return sendRedirect(response, 302, address);
  const context = await identify(site, request, 'rest');
  if (negotiate(request.headers.accept, ['text/html']) === undefined)
    throw refuse(406, 'This path serves an HTML page only');
  if (context.actor === null) return sendRedirect(response, 302, signInFor(site, address));
  applyCookies(response, site.cookies, context.reply.cookies);
  sendHtml(response, 200, await site.pages.home(context));
}

/** Returns the sign-in address with a callback to an address of this server. */
export function signInFor(site: { baseUrl: URL; basePath: string }, address: string): string {
  return `${site.basePath}/auth?${new URLSearchParams({ callback: `${site.baseUrl.origin}${address}` }).toString()}`;
}
