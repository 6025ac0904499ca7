import { z } from 'zod';
import type { RequestContext } from './request-context.js';
import { opaque } from './text.js';

/** What a request says of a page of a long list. */
export const paging = {
  limit: z.number().int().min(1).max(500).optional().describe('How many at most; without it, all there are'),
  cursor: opaque.max(200).optional().describe('`next` of the page before'),
};

/** What an answer says of the page after it. */
export const next = z.string().nullable().describe('Cursor of the next page; null when there is none');

/** Says where the next page is in the header `Link` too (RFC 8288), for clients that know only the documented fields. */
export function linkNext<Output extends { next: string | null }>(ctx: RequestContext, output: Output): Output {
  if (ctx.request.transport !== 'rest' || output.next === null) return output;
  const url = new URL(ctx.request.url);
  url.searchParams.set('cursor', output.next);
  ctx.reply.headers.Link = `<${url.pathname}${url.search}>; rel="next"`;
  return output;
}
