import type { RequestContext } from './request-context.js';

/**
 * Sets the status of the response to `status` instead of 200. Returns `output`, so that a router body stays an
 * expression.
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
