import type { RequestContext } from './request-context.js';

/** Sets the header `Link` to the next page too (RFC 8288), for clients that know only the documented fields. */
export function linkNext<Output extends { next: string | null }>(ctx: RequestContext, output: Output): Output {
  if (ctx.request.transport !== 'rest' || output.next === null) return output;
  const url = new URL(ctx.request.url);
  url.searchParams.set('cursor', output.next);
  ctx.reply.headers.Link = `<${url.pathname}${url.search}>; rel="next"`;
  return output;
}
