import type { RequestContext } from './request-context.js';

/** Answers with `status` instead of 200. Gives `output` back, so that a router body stays an expression. */
export function setStatus<Output>(ctx: RequestContext, output: Output, status: number): Output {
  ctx.reply.status = status;
  return output;
}

/** Answers with a redirect instead of a body. */
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

/** A successful resume is a 307 to the next step, unless JSON was asked for (docs/interface.md, section 13, rule 1). */
export function redirectUnlessJson<Output extends { location: string }>(ctx: RequestContext, output: Output): Output {
  return ctx.request.jsonRequested ? output : redirect(ctx, output, 307, `${ctx.host.basePath}${output.location}`);
}
