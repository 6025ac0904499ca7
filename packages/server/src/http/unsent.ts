import type { IncomingMessage, ServerResponse } from 'node:http';
import { openUnsent, withActor } from '@belay/core';
import {
  applyCookies,
  bodyType,
  isSameOrigin,
  readBody,
  refuse,
  sendHtml,
  sendOptions,
  sendRedirect,
} from '@belay/rest';
import { identify, type Site } from './identify.js';
import type { Pages } from './render.js';

/** The path, after the prefix, to which a page posts a sealed form that was not sent. */
export const unsentPath = '/unsent';

/**
 * Shows a person their form, filled in, that was not sent because their login had ended. Nothing is sent: the person reviews the
 * form and sends it again (decision 0059). Throws 400, 403, 404, 405, 413 and 415.
 */
export async function answerUnsent(
  site: Site & { basePath: string; pages: Pages; bodyBytes: number },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const allow = 'GET, HEAD, POST, OPTIONS';
  if (request.method === 'OPTIONS') return sendOptions(response, allow);
  // A reload of the shown page by its address has no form.
  if (request.method === 'GET' || request.method === 'HEAD') return sendRedirect(response, 302, '/');
  if (request.method !== 'POST') throw refuse(405, `${request.method} is not allowed here`, { Allow: allow });
  if (!isSameOrigin(request, site.baseUrl.origin)) throw refuse(403, 'Only a page of this site can open a form here');
  if (bodyType(request) !== 'application/x-www-form-urlencoded') {
    throw refuse(415, 'The body must be application/x-www-form-urlencoded');
  }
  const sealed = new URLSearchParams(await readBody(request, site.bodyBytes)).get('form') ?? '';
  const context = await identify(site, request, 'rest');
  const { actor, reply } = context;
  if (actor?.kind !== 'user') return sendHtml(response, 401, site.pages.signInFirst(context, sealed));
  const form = await openUnsent(withActor(site.context, actor), sealed);
  applyCookies(response, site.cookies, reply.cookies);
  const markup = await site.pages.unsentForm(context, form);
  if (markup === undefined) throw refuse(404, 'The page of this form is not available any more');
  sendHtml(response, 200, markup);
}
