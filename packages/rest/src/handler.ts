import type { IncomingMessage, ServerResponse } from 'node:http';
import { csv } from '@belay/contract/csv';
import { callTRPCProcedure, TRPCError } from '@trpc/server';
import { sendError, sendOptions, sendRedirect } from './answer.js';
import { askFirst, type Exchange, guardOrigin, mustConfirm, showAgain, showUnsent } from './browser.js';
import type { RestContext } from './exchange.js';
import type { Rest, RestOptions } from './hooks.js';
import { readInput } from './input.js';
import { createKeptAnswers, type KeptAnswers } from './kept-answers.js';
import { negotiate } from './negotiate.js';
import { openAnswer } from './open-streams.js';
import { Refusal, refuse, refuseField } from './refusal.js';
import { reply, replyAgain } from './reply.js';
import { createRouteTable, type Operation, type Route } from './route-table.js';
import { stateOf } from './state.js';
import { ndjson, type StreamPage, streamPages } from './stream.js';
import { createTrpcHandler } from './trpc.js';

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/**
 * Serves a router's procedures at their documented paths and as tRPC. This package knows media types, methods and browsers, but no
 * entity of Belay: the hooks decide who the caller is, what they may do and what a page looks like.
 */
export function createRest<Context extends RestContext>(options: RestOptions<Context>): Rest {
  const { hooks } = options;
  const table = createRouteTable(options.router);
  const kept = createKeptAnswers();
  const failing = {
    hooks,
    challenge: options.challenge,
    contextOf: (request: IncomingMessage) => stateOf(request).context as Context | undefined,
  };
  const fail: Rest['fail'] = (request, response, thrown) => sendError(failing, request, response, thrown);

  async function dispatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = request.url ?? '/';
    const query = address.indexOf('?');
    const path = query < 0 ? address : address.slice(0, query);
    const found = table.find(relative(path, options, table.atRoot));
    if (found !== undefined && 'malformed' in found) throw refuseField(found.malformed, 'is not percent-encoded UTF-8');
    if (found === undefined) throw refuse(404, 'There is nothing at this address');
    const { route, parameters } = found;
    stateOf(request).route = route.path;
    if (request.method === 'OPTIONS') return sendOptions(response, route.allow);
    const operation = route.methods.get(request.method ?? '') ?? confirmable(request, route);
    const context = await hooks.identify(request, 'rest', operation);
    const { streams } = options;
    if (streams !== undefined) context.stayOpen = openAnswer(streams, context, request, response);
    stateOf(request).context = context;
    const search = query < 0 ? '' : address.slice(query + 1);
    const exchange = { options, request, response, route, operation, context, parameters, search, address };
    await perform(kept, exchange).catch(async (thrown: unknown) => {
      if (!(thrown instanceof Refusal) || !(await showUnsent(exchange, thrown))) throw thrown;
    });
  }

  return {
    routes: table.routes,
    serves: (path) => table.find(relative(path, options, table.atRoot)) !== undefined,
    fail,
    answerTrpc: createTrpcHandler({ ...options, fail }),
    async answer(request, response) {
      try {
        await dispatch(request, response);
      } catch (thrown) {
        // A procedure has logged its own failure already.
        if (!(thrown instanceof Refusal) && !(thrown instanceof TRPCError)) hooks.failed(request, thrown);
        fail(request, response, thrown);
      }
    },
  };
}

/** Returns the path without the prefix. A path without the prefix stays only where the host serves it, else it becomes empty. */
function relative(
  path: string,
  { basePath, unprefixed }: { basePath: string; unprefixed: 'declared' | 'every' },
  atRoot: ReadonlySet<string>,
): string {
  if (path.startsWith(`${basePath}/`)) return path.slice(basePath.length);
  return unprefixed === 'every' || atRoot.has(path) ? path : '';
}

function confirmable(request: IncomingMessage, route: Route): Operation {
  if (request.method === 'POST' && route.confirmable !== undefined) return route.confirmable;
  throw refuse(405, `${request.method ?? 'This method'} is not allowed here`, { Allow: route.allow });
}

async function perform<Context extends RestContext>(kept: KeptAnswers, exchange: Exchange<Context>): Promise<void> {
  const { options, request, response, route, context, address } = exchange;
  const { accepts } = context.request;
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const page = reads && accepts === 'html' && exchange.operation.offers.includes('text/html');
  const shown = stateOf(request).address ?? address;
  const signIn = options.hooks.guard({ operation: exchange.operation, context, address: shown, page });
  if (signIn !== undefined) return sendRedirect(response, 302, signIn);
  const { emptyForm } = exchange.operation.rest;
  if (emptyForm !== undefined && request.method === 'GET' && exchange.search === '' && accepts === 'html') {
    return sendRedirect(response, 302, `${options.basePath}${emptyForm}`);
  }
  const type = negotiate(request.headers.accept, exchange.operation.offers);
  if (type === undefined) throw refuse(406, `Only ${exchange.operation.offers.join(' and ')} can be returned here`);
  guardOrigin(exchange);
  const place = type === json && request.method === 'GET' ? placeOf(exchange) : undefined;
  const ready = place && kept.find(place.of, place.as);
  if (ready) return replyAgain(exchange, ready);
  const input = await readInput(exchange, options.limits);
  const operation = input.confirmed ? (route.confirmable ?? exchange.operation) : exchange.operation;
  if (mustConfirm(exchange, operation, input)) return askFirst(exchange, operation, input);
  // Aborted when the client disconnects, because it no longer waits then.
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
  if (place && isKeepable(context.reply)) {
    // A kept output may be long: the event loop gets a turn between the check of the output and its conversion to text.
    await nextTurn();
    const answer = { body: Buffer.from(JSON.stringify(output)), headers: { ...context.reply.headers } };
    kept.keep(place.of, place.as, answer);
    return replyAgain(exchange, answer);
  }
  const asked = operation.rest.csv && input.fields.format === 'csv' ? csv : type;
  if (asked !== ndjson && asked !== csv)
    return reply(exchange, { operation, input, output, type: input.confirmed ? 'text/html' : type });
  options.streams?.open(context, response);
  await streamPages({
    response,
    first: output as StreamPage,
    columns: asked === csv ? operation.rest.csv : undefined,
    page: async (cursor) => (await call({ ...input.fields, cursor })) as StreamPage,
    stillAllowed: async () => (await options.hooks.identify(request, 'rest', operation)).actor !== null,
  });
}

const json = 'application/json';

/** Returns where the response to a request is kept, by its address; undefined when it is not kept. */
function placeOf<Context extends RestContext>({
  options,
  operation,
  context,
  address,
}: Exchange<Context>): { of: object; as: string } | undefined {
  const place = options.hooks.kept?.({ operation, context });
  return place && { of: place.of, as: `${address} ${place.as}` };
}

function isKeepable({ status = 200, location }: RestContext['reply']): boolean {
  return status === 200 && location === undefined;
}

const shownAgain = Symbol('a form was shown again');
