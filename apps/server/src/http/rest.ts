import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '@belay/api';
import { renderConfirmation, renderHome, renderOutput, renderPage, renderRefused } from '@belay/console';
import {
  createRouteTable,
  isPrefetch,
  isSameOrigin,
  ndjson,
  negotiate,
  type Operation,
  published,
  Refusal,
  type Route,
  refuse,
  refuseField,
  renderMetrics,
  type StreamPage,
  streamPages,
} from '@belay/rest';
import { type AnyTRPCRouter, callTRPCProcedure, TRPCError } from '@trpc/server';
import { applyCookies, frames, send, sendError, sendHtml, sendJson, sendOptions, sendRedirect } from './answer.js';
import { identify, type Site } from './identify.js';
import { logFailure } from './log-failure.js';
import type { OpenStreams } from './open-streams.js';
import { type RequestInput, readInput } from './rest-input.js';
import { allowFormTo } from './security-headers.js';
import { createAsk, createView, frameOf } from './show.js';

export interface RestOptions extends Site {
  router: AnyTRPCRouter;
  basePath: string;
  bodyBytes: number;
  streams: OpenStreams;
}

/**
 * The REST adapter of design §8: documented paths, answered by the router's procedures. It knows media types, methods and
 * browsers; it decides nothing about access.
 */
export function createRestHandler(
  options: RestOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { router, basePath } = options;
  const table = createRouteTable(router);

  return async (request, response) => {
    try {
      const address = request.url ?? '/';
      const query = address.indexOf('?');
      const path = query < 0 ? address : address.slice(0, query);
      if (isHome(path, basePath)) return await home(options, request, response, path);
      const found = table.find(relative(path, basePath, table.atRoot));
      if (found !== undefined && 'malformed' in found) {
        throw refuseField(found.malformed, 'is not percent-encoded UTF-8');
      }
      if (found === undefined) throw refuse(404, 'There is nothing at this address');
      const { route, parameters } = found;
      if (request.method === 'OPTIONS') return sendOptions(response, route.allow);
      const operation = route.methods.get(request.method ?? '') ?? confirmable(request, route);
      const context = await identify(options, request, 'rest');
      context.stayOpen = () => options.streams.open(context, response, 'answer');
      frames.set(request, frameOf(context, basePath));
      const search = query < 0 ? '' : address.slice(query + 1);
      await answer({ options, request, response, route, operation, context, parameters, search, address });
    } catch (thrown) {
      // A procedure has logged its own failure already.
      if (!(thrown instanceof Refusal) && !(thrown instanceof TRPCError)) logFailure(options.context, request, thrown);
      sendError(request, response, thrown, basePath);
    }
  };
}

/** The path without the prefix; an address of ours that has none is known only where orchestrators look. */
function relative(path: string, basePath: string, atRoot: ReadonlySet<string>): string {
  if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length);
  return atRoot.has(path) ? path : '';
}

function confirmable(request: IncomingMessage, route: Route): Operation {
  if (request.method === 'POST' && route.confirmable !== undefined) return route.confirmable;
  throw refuse(405, `${request.method ?? 'This method'} is not offered here`, { Allow: route.allow });
}

interface Exchange {
  options: RestOptions;
  request: IncomingMessage;
  response: ServerResponse;
  route: Route;
  operation: Operation;
  context: RequestContext;
  parameters: Record<string, string>;
  search: string;
  address: string;
}

async function answer(exchange: Exchange): Promise<void> {
  const { options, request, response, route, context } = exchange;
  const { accepts } = context.request;
  if (exchange.operation.rest.public !== true && context.actor === null) {
    const isPage = accepts === 'html' && exchange.operation.offers.includes('text/html');
    if (isPage && (request.method === 'GET' || request.method === 'HEAD')) {
      sendToSignIn(options, response, exchange.address);
      return;
    }
    const message = context.token === null ? 'Sign in first' : 'The login is unknown or has expired';
    throw refuse(401, message);
  }
  const { emptyForm } = exchange.operation.rest;
  if (emptyForm !== undefined && request.method === 'GET' && exchange.search === '' && accepts === 'html') {
    sendRedirect(response, 302, `${options.basePath}${emptyForm}`);
    return;
  }
  const type = negotiate(request.headers.accept, exchange.operation.offers);
  if (type === undefined) throw refuse(406, `Only ${exchange.operation.offers.join(' and ')} can be had here`);
  guardOrigin(exchange);
  const input = await readInput(exchange, options.bodyBytes);
  const operation = input.confirmed ? (route.confirmable ?? exchange.operation) : exchange.operation;
  if (mustConfirm(exchange, operation, input)) {
    await askFirst(exchange, operation, input);
    return;
  }
  // The client has disconnected, so it no longer waits.
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const call = (fields: Record<string, unknown>): Promise<unknown> =>
    callTRPCProcedure({
      router: options.router,
      path: operation.procedure,
      type: operation.type,
      ctx: context,
      getRawInput: async () => (operation.input === undefined ? undefined : fields),
      signal: gone.signal,
      batchIndex: 0,
    });
  const output = await call(input.fields).catch(async (thrown: unknown) => {
    if (await showAgain(exchange, operation, input, thrown)) return shownAgain;
    throw thrown;
  });
  if (output === shownAgain) return;
  if (type === ndjson) {
    options.streams.open(context, response);
    await streamPages({
      response,
      first: output as StreamPage,
      page: async (cursor) => (await call({ ...input.fields, cursor })) as StreamPage,
      stillAllowed: async () => (await identify(options, request, 'rest')).actor !== null,
    });
    return;
  }
  await reply(exchange, operation, input, output, input.confirmed ? 'text/html' : type);
}

const shownAgain = Symbol('a form was shown again');

/** A form of our own that was refused comes back as it was filled in, with what is wrong with it. True when it did. */
async function showAgain(
  { options, request, response, context }: Exchange,
  operation: Operation,
  input: RequestInput,
  thrown: unknown,
): Promise<boolean> {
  if (!input.ownForm || context.request.accepts !== 'html' || request.method !== 'POST') return false;
  const { status, body } = published(thrown);
  if (status >= 500 && status !== 503) return false;
  const shown = { ...options, context, input: input.fields };
  const ask = createAsk(shown);
  const view = { ...(await createView(shown, ask)), refused: body };
  const page = await renderRefused(operation.procedure, view, ask);
  if (page === undefined) return false;
  if (status === 503) response.setHeader('Retry-After', '5');
  sendHtml(response, status, renderPage(page, view));
  return true;
}

/** What a cookie authenticates must come from our own pages when it changes something (design §10). */
function guardOrigin({ options, request, operation, context }: Exchange): void {
  if (!context.request.viaCookie || context.actor === null || operation.rest.fromElsewhere === true) return;
  const acts = request.method === 'POST' || operation.type === 'mutation';
  // A browser that only gets ready for a click has not been told to do anything.
  if (acts && isPrefetch(request)) throw refuse(403, 'What changes something is not prefetched');
  if (!acts || operation.rest.fromAnywhere === true || isSameOrigin(request, options.baseUrl.origin)) return;
  // A page that only asks may be shown to whoever followed a link from elsewhere.
  if (request.method === 'GET' && context.request.accepts === 'html' && operation.rest.confirm !== undefined) return;
  throw refuse(403, 'A request that changes something must come from this site, or carry a bearer token');
}

function mustConfirm({ request, context }: Exchange, operation: Operation, input: RequestInput): boolean {
  const { confirm } = operation.rest;
  if (confirm === undefined || input.confirmed || request.method !== 'GET') return false;
  if (!context.request.viaCookie || context.actor === null || context.request.accepts !== 'html') return false;
  // A link in a mail or a chat says `none`: that is not a page of Belay either.
  return confirm.when === 'always' || request.headers['sec-fetch-site'] !== 'same-origin';
}

async function askFirst(exchange: Exchange, operation: Operation, input: RequestInput): Promise<void> {
  const { options, response, context, address } = exchange;
  // Refused now rather than after the person has agreed to it.
  const checked = operation.input?.safeParse(input.fields);
  if (checked?.success === false) {
    throw new TRPCError({ code: 'BAD_REQUEST', cause: checked.error });
  }
  const title = operation.rest.confirm?.title ?? 'Confirm';
  const shown = { ...options, context, input: input.fields };
  const ask = createAsk(shown);
  const view = await createView(shown, ask);
  const asked = { title, procedure: operation.procedure, address, fields: input.fields };
  sendHtml(response, 200, renderPage(await renderConfirmation(asked, view, ask), view));
}

/** The viewer of a response that signs a person in or out, which is not the viewer who sent the request. */
async function seenBy({ options, context }: Exchange): Promise<RequestContext> {
  const cookie = context.reply.cookies.findLast(({ kind }) => kind === 'login');
  if (cookie === undefined) return context;
  const login = cookie.value === null ? null : await options.verify(cookie.value);
  return { ...context, token: cookie.value, actor: login?.actor ?? null };
}

async function reply(
  exchange: Exchange,
  operation: Operation,
  input: RequestInput,
  output: unknown,
  type: string,
): Promise<void> {
  const { options, response, context } = exchange;
  const { status = 200, location, headers, cookies } = context.reply;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (cookies.length > 0) applyCookies(response, options.cookies, cookies);
  if (location !== undefined) {
    // After a form, 303: a browser repeats a POST on 307, and what it confirmed must not be sent on.
    sendRedirect(response, input.confirmed ? 303 : status, location);
    return;
  }
  if (operation.rest.metrics === true && type !== 'application/json') {
    const text = renderMetrics(output, type);
    send(response, status, text.type, text.body);
    return;
  }
  const { document } = operation.rest;
  if (document !== undefined && type === document.type) {
    send(response, status, `${type}; charset=utf-8`, String((output as Record<string, unknown>)[document.field]));
    return;
  }
  if (status === 503) response.setHeader('Retry-After', '5');
  if (type !== 'text/html') return sendJson(response, status, output);
  const shown = { ...options, context: await seenBy(exchange), input: input.fields };
  const ask = createAsk(shown);
  const view = await createView(shown, ask);
  const rendered = await renderOutput(operation.procedure, output, view, ask);
  if (rendered === undefined) sendJson(response, status, output);
  else if ('redirect' in rendered) sendRedirect(response, 303, rendered.redirect);
  else {
    const { leadsTo } = rendered.page;
    const policy = 'Content-Security-Policy';
    if (leadsTo !== undefined) response.setHeader(policy, allowFormTo(String(response.getHeader(policy)), leadsTo));
    sendHtml(response, status, renderPage(rendered.page, rendered.view ?? view));
  }
}

function sendToSignIn(options: RestOptions, response: ServerResponse, address: string): void {
  const callback = `${options.baseUrl.origin}${address}`;
  sendRedirect(response, 302, `${options.basePath}/auth?${new URLSearchParams({ callback }).toString()}`);
}

/** Where people begin; it belongs to no procedure and to no program. */
function isHome(path: string, basePath: string): boolean {
  return path === '/' || path === `${basePath}/home`;
}

async function home(
  options: RestOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method === 'OPTIONS') return sendOptions(response, allow);
  if (!['GET', 'HEAD'].includes(request.method ?? '')) throw refuse(405, 'There is only a page here', { Allow: allow });
  const address = `${options.basePath}/home`;
  if (path !== address) return sendRedirect(response, 302, address);
  const context = await identify(options, request, 'rest');
  if (negotiate(request.headers.accept, ['text/html']) === undefined) throw refuse(406, 'There is only a page here');
  if (context.actor === null) return sendToSignIn(options, response, address);
  if (context.reply.cookies.length > 0) applyCookies(response, options.cookies, context.reply.cookies);
  const shown = { ...options, context, input: {} };
  const ask = createAsk(shown);
  const view = await createView(shown, ask);
  sendHtml(response, 200, renderPage(await renderHome(view, ask), view));
}
