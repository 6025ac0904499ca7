import type { RequestContext } from './request-context.js';

/**
 * Sets the status of the response. Returns `output`, so that the body of a procedure can stay one expression.
 */
export function setStatus<Output>(ctx: RequestContext, output: Output, status: number): Output {
  ctx.reply.status = status;
  return output;
}

/** Responds with a redirect instead of a body. */
export function redirect<Output>(
  ctx: RequestContext,
  output: Output,
  status: 302 | 303 | 307,
  location: string,
): Output {
  ctx.reply.status = status;
  ctx.reply.location = location;
  return output;
}

/**
 * Responds to a successful resume with a 307 to the next step, unless JSON was requested (docs/interface.md, section
 * 13, rule 1).
 */
export function redirectUnlessJson<Output extends { location: string }>(ctx: RequestContext, output: Output): Output {
  return ctx.request.jsonRequested ? output : redirect(ctx, output, 307, `${ctx.host.basePath}${output.location}`);
}

/** Sets the header `Link` to the next page (RFC 8288) over REST, for clients that follow it instead of `next`. */
export function linkNext<Output extends { next: string | null }>(ctx: RequestContext, output: Output): Output {
  if (ctx.request.transport !== 'rest' || output.next === null) return output;
  const url = new URL(ctx.request.url);
  url.searchParams.set('cursor', output.next);
  ctx.reply.headers.Link = `<${url.pathname}${url.search}>; rel="next"`;
  return output;
}
