import type { IncomingMessage, ServerResponse } from 'node:http';
import { applyCookies, negotiate, refuse, sendHtml, sendOptions, sendRedirect } from '@belay/rest';
import { identify, type Site, signInFor } from './identify.js';
import type { Pages } from './render.js';

export type OwnPage = 'home' | 'search' | 'cart';

/** Returns the page of a path that has no procedure, so it has no JSON response; undefined for any other path. */
export function ownPage(path: string, basePath: string): OwnPage | undefined {
  if (path === '/' || path === `${basePath}/home`) return 'home';
  if (path === '/search') return 'search';
  return path === '/request' ? 'cart' : undefined;
}

/** Sends a page without a procedure. Throws 405 and 406. */
export async function answerOwnPage(
  site: Site & { basePath: string; pages: Pages },
  request: IncomingMessage,
  response: ServerResponse,
  name: OwnPage,
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
  const { searchParams } = new URL(request.url ?? '/', site.baseUrl);
  const fields = Object.fromEntries(
    [...new Set(searchParams.keys())].map((key) => {
      const values = searchParams.getAll(key);
      return [key, values.length > 1 ? values : (values[0] ?? '')];
    }),
  );
  sendHtml(response, 200, await site.pages[name](context, fields));
}
