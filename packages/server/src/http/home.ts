import type { IncomingMessage, ServerResponse } from 'node:http';
import { applyCookies, negotiate, refuse, sendHtml, sendOptions, sendRedirect } from '@belay/rest';
import { identify, type Site } from './identify.js';
import type { Pages } from './render.js';

/** Returns the page without a procedure, and so without a JSON form, that is at this path. */
export function ownPage(path: string, basePath: string): 'home' | 'search' | undefined {
  if (path === '/' || path === `${basePath}/home`) return 'home';
  return path === '/search' ? 'search' : undefined;
}

/** Sends a page without a procedure. Throws 405 and 406. */
export async function answerOwnPage(
  site: Site & { basePath: string; pages: Pages },
  request: IncomingMessage,
  response: ServerResponse,
  name: 'home' | 'search',
): Promise<void> {
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method === 'OPTIONS') return sendOptions(response, allow);
  if (!['GET', 'HEAD'].includes(request.method ?? ''))
    throw refuse(405, 'This path serves an HTML page only', { Allow: allow });
  const context = await identify(site, request, 'rest');
  if (negotiate(request.headers.accept, ['text/html']) === undefined)
    throw refuse(406, 'This path serves an HTML page only');
  if (context.actor === null) return sendRedirect(response, 302, signInFor(site, request.url ?? '/'));
  applyCookies(response, site.cookies, context.reply.cookies);
  const fields = Object.fromEntries(new URL(request.url ?? '/', site.baseUrl).searchParams);
  sendHtml(response, 200, await site.pages[name](context, fields));
}

/** Returns the sign-in address with a callback to an address of this server. */
export function signInFor(site: { baseUrl: URL; basePath: string }, address: string): string {
  return `${site.basePath}/auth?${new URLSearchParams({ callback: `${site.baseUrl.origin}${address}` }).toString()}`;
}
