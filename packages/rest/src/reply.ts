import { applyCookies, send, sendHtml, sendJson, sendRedirect } from './answer.js';
import type { Exchange } from './browser.js';
import type { RestContext } from './exchange.js';
import type { Shown } from './hooks.js';
import type { RequestInput } from './input.js';
import type { KeptAnswer } from './kept-answers.js';
import { renderMetrics } from './metrics-text.js';
import type { Operation } from './route-table.js';

/** Sends the output of a procedure in the negotiated media type. */
export async function reply<Context extends RestContext>(
  exchange: Exchange<Context>,
  done: { operation: Operation; input: RequestInput; output: unknown; type: string },
): Promise<void> {
  const { options, response, context } = exchange;
  const { operation, input, output, type } = done;
  const { status = 200, location, headers, cookies } = context.reply;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (cookies.length > 0) applyCookies(response, options.cookies, cookies);
  if (location !== undefined) {
    // 303 after a confirmation: with 307 the browser would post the form again to the next address.
    return sendRedirect(response, input.confirmed ? 303 : (context.reply.status ?? 302), location);
  }
  if (operation.rest.metrics !== undefined && type !== 'application/json') {
    const text = await renderMetrics(operation, output, { type, more: options.metrics });
    return send(response, status, text.type, text.body);
  }
  const { document } = operation.rest;
  if (document !== undefined && type === document.type) {
    return send(
      response,
      status,
      `${type}; charset=utf-8`,
      String((output as Record<string, unknown>)[document.field]),
    );
  }
  if (status === 503) response.setHeader('Retry-After', '5');
  if (type !== 'text/html') return sendJson(response, status, output);
  await replyToBrowser(exchange, { operation, context, input: input.fields }, output);
}

/** Sends a response that was kept, and the cookies of this request, such as the one that prolongs a login. */
export function replyAgain<Context extends RestContext>(
  { options, response, context }: Exchange<Context>,
  { body, headers }: KeptAnswer,
): void {
  const { cookies } = context.reply;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (cookies.length > 0) applyCookies(response, options.cookies, cookies);
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': body.length });
  response.end(body);
}

async function replyToBrowser<Context extends RestContext>(
  { options, response, context }: Exchange<Context>,
  shown: Shown<Context>,
  output: unknown,
): Promise<void> {
  const { status = 200 } = context.reply;
  const rendered = await options.hooks.render.output(shown, output);
  if (rendered === undefined) return sendJson(response, status, output);
  if ('redirect' in rendered) return sendRedirect(response, 303, rendered.redirect);
  const policy = 'Content-Security-Policy';
  const { leadsTo } = rendered;
  if (leadsTo !== undefined) response.setHeader(policy, allowFormTo(String(response.getHeader(policy)), leadsTo));
  sendHtml(response, status, rendered.markup);
}

/**
 * Returns the policy of a page whose form redirects to `origin`, because browsers check the redirects of a form against `form-action`
 * too. An IPv6 address cannot be written in a policy, so the policy then has the scheme only.
 */
function allowFormTo(policy: string, origin: string): string {
  const { hostname, protocol } = new URL(origin);
  return policy.replace("form-action 'self'", `form-action 'self' ${hostname.startsWith('[') ? protocol : origin}`);
}
