import type { IncomingMessage, ServerResponse } from 'node:http';
import { TRPCError } from '@trpc/server';
import { sendHtml } from './answer.js';
import { bodyType } from './body.js';
import type { RestContext } from './exchange.js';
import type { RestOptions } from './hooks.js';
import { OtherLogin, type RequestInput, readUnsent, type UnsentInput } from './input.js';
import { published, refuse } from './refusal.js';
import type { Operation, Route } from './route-table.js';
import { isPrefetch, isSameOrigin } from './security.js';

/** A request whose operation and caller are known. */
export interface Exchange<Context extends RestContext> {
  options: RestOptions<Context>;
  request: IncomingMessage;
  response: ServerResponse;
  route: Route;
  operation: Operation;
  context: Context;
  parameters: Record<string, string>;
  search: string;
  address: string;
}

/**
 * Shows a rejected form of our own again, with the values that were sent and the errors: a form that was posted, or the filters of a
 * list, which are in its address. A page that the caller may not open is shown with the reason. Returns whether there is such a page.
 */
export async function showAgain<Context extends RestContext>(
  { options, request, response, context }: Exchange<Context>,
  operation: Operation,
  input: RequestInput,
  thrown: unknown,
): Promise<boolean> {
  if (context.request.accepts !== 'html') return false;
  const { status, body } = published(thrown);
  const isQuery = request.method === 'GET' && operation.type === 'query' && (status === 400 || status === 403);
  const isForm = request.method === 'POST' && input.ownForm && (status < 500 || status === 503);
  if (!isQuery && !isForm) return false;
  const markup = await options.hooks.render.rejected({ operation, context, input: input.fields }, body);
  if (markup === undefined) return false;
  if (status === 503) response.setHeader('Retry-After', '5');
  sendHtml(response, status, markup);
  return true;
}

/**
 * Shows the page that keeps what was typed into a form of our own when the login of its sender has ended or changed. No field of the
 * form is accepted. Returns whether there is such a page; a form of another site is not kept.
 */
export async function showUnsent<Context extends RestContext>(
  exchange: Exchange<Context>,
  thrown: unknown,
): Promise<boolean> {
  const { options, request, response, operation, context, address } = exchange;
  const { render } = options.hooks;
  const { status } = published(thrown);
  if (render.unsent === undefined || request.method !== 'POST' || context.request.accepts !== 'html') return false;
  if (!isSameOrigin(request, options.origin)) return false;
  const unsent = await unsentOf(exchange, thrown);
  if (typeof unsent?.shownTo !== 'string') return false;
  const { fields: input, shownTo } = unsent;
  const markup = await render.unsent({ operation, context, input, address, shownTo });
  if (markup === undefined) return false;
  if (status === 401) response.setHeader('WWW-Authenticate', options.challenge(request));
  sendHtml(response, status, markup);
  return true;
}

async function unsentOf<Context extends RestContext>(
  exchange: Exchange<Context>,
  thrown: unknown,
): Promise<UnsentInput | undefined> {
  if (thrown instanceof OtherLogin) return thrown.unsent;
  const isForm = bodyType(exchange.request) === 'application/x-www-form-urlencoded';
  if (exchange.context.actor !== null || published(thrown).status !== 401 || !isForm) return undefined;
  // A form that cannot be read is not kept: the caller gets the 401 without it.
  return readUnsent(exchange, exchange.options.limits).catch(() => undefined);
}

/** Rejects (403) a request that a cookie authenticates and that changes something, unless it comes from our own pages. */
export function guardOrigin<Context extends RestContext>({
  options,
  request,
  operation,
  context,
}: Exchange<Context>): void {
  if (!context.request.viaCookie || context.actor === null || operation.rest.fromElsewhere === true) return;
  const acts = request.method === 'POST' || operation.type === 'mutation';
  // The person has not clicked yet when a browser prefetches a link.
  if (acts && isPrefetch(request)) throw refuse(403, 'A request that changes something cannot be prefetched');
  if (!acts || operation.rest.fromAnywhere === true || isSameOrigin(request, options.origin)) return;
  // A confirmation page changes nothing, so it can be shown after a link from another site.
  if (request.method === 'GET' && context.request.accepts === 'html' && operation.rest.confirm !== undefined) return;
  throw refuse(403, 'A request that changes something must come from this site, or carry a bearer token');
}

/** Returns whether a person has to confirm before the operation acts. */
export function mustConfirm<Context extends RestContext>(
  { request, context }: Exchange<Context>,
  operation: Operation,
  input: RequestInput,
): boolean {
  const { confirm } = operation.rest;
  if (confirm === undefined || input.confirmed || request.method !== 'GET') return false;
  if (!context.request.viaCookie || context.actor === null || context.request.accepts !== 'html') return false;
  // `none` is a link in an e-mail or a chat, or an address that was typed: not a page of Belay.
  return confirm.when === 'always' || request.headers['sec-fetch-site'] !== 'same-origin';
}

/** Sends the confirmation page. Throws 400 when the input is not valid, because the confirmed operation would fail. */
export async function askFirst<Context extends RestContext>(
  exchange: Exchange<Context>,
  operation: Operation,
  input: RequestInput,
): Promise<void> {
  const { options, response, context, address } = exchange;
  const checked = operation.input?.safeParse(input.fields);
  if (checked?.success === false) {
    throw new TRPCError({ code: 'BAD_REQUEST', cause: checked.error });
  }
  const title = operation.rest.confirm?.title ?? 'Confirm';
  const shown = { operation, context, input: input.fields };
  sendHtml(response, 200, await options.hooks.render.confirmation(shown, { title, address }));
}
