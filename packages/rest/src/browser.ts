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
 * Shows a form of our own that was rejected as it was filled in, with what is wrong with it: one that was posted, or the filters of
 * a list, which are in its address; or says of what a page is about why the caller may not do it. Returns whether there is a page for it.
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
 * Shows the page that keeps a form of our own pages when its sender has no login any more, or another one. Nothing of it is
 * accepted. Returns whether there is a page for it; a form of another site is not kept.
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
  // What cannot be read is not kept; that a login is missing is the answer all the same.
  return readUnsent(exchange, exchange.options.limits).catch(() => undefined);
}

/** Requires that a request which a cookie authenticates and which changes something comes from our own pages. */
export function guardOrigin<Context extends RestContext>({
  options,
  request,
  operation,
  context,
}: Exchange<Context>): void {
  if (!context.request.viaCookie || context.actor === null || operation.rest.fromElsewhere === true) return;
  const acts = request.method === 'POST' || operation.type === 'mutation';
  // A browser that only gets ready for a click has not been told to do anything.
  if (acts && isPrefetch(request)) throw refuse(403, 'A request that changes something cannot be prefetched');
  if (!acts || operation.rest.fromAnywhere === true || isSameOrigin(request, options.origin)) return;
  // A page that only asks for a confirmation can be shown after a link from another site.
  if (request.method === 'GET' && context.request.accepts === 'html' && operation.rest.confirm !== undefined) return;
  throw refuse(403, 'A request that changes something must come from this site, or carry a bearer token');
}

/** Returns whether a person is asked before the operation acts. */
export function mustConfirm<Context extends RestContext>(
  { request, context }: Exchange<Context>,
  operation: Operation,
  input: RequestInput,
): boolean {
  const { confirm } = operation.rest;
  if (confirm === undefined || input.confirmed || request.method !== 'GET') return false;
  if (!context.request.viaCookie || context.actor === null || context.request.accepts !== 'html') return false;
  // A link in a mail or a chat says `none`: that is not a page of Belay either.
  return confirm.when === 'always' || request.headers['sec-fetch-site'] !== 'same-origin';
}

/** Answers with the page that asks. Throws `invalid` when agreeing would come to nothing. */
export async function askFirst<Context extends RestContext>(
  exchange: Exchange<Context>,
  operation: Operation,
  input: RequestInput,
): Promise<void> {
  const { options, response, context, address } = exchange;
  // Rejected now rather than after the person has agreed to it.
  const checked = operation.input?.safeParse(input.fields);
  if (checked?.success === false) {
    throw new TRPCError({ code: 'BAD_REQUEST', cause: checked.error });
  }
  const title = operation.rest.confirm?.title ?? 'Confirm';
  const shown = { operation, context, input: input.fields };
  sendHtml(response, 200, await options.hooks.render.confirmation(shown, { title, address }));
}
