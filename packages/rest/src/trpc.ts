import type { IncomingMessage, ServerResponse } from 'node:http';
import { AccessError, errorTable } from '@belay/contract/errors';
import { type AnyTRPCRouter, TRPCError } from '@trpc/server';
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http';
import { publishError } from './errors.js';
import type { RestContext } from './exchange.js';
import type { Rest, RestOptions } from './hooks.js';
import { type OpenStreams, openAnswer } from './open-streams.js';
import { isSameOrigin } from './security.js';

/**
 * Serves tRPC for the SDK, including server-sent events. A rejected stream gets the HTTP status of its error; tRPC itself would open
 * the stream and send the error as its first event.
 */
export function createTrpcHandler<Context extends RestContext>(
  options: RestOptions<Context> & Pick<Rest, 'fail'>,
): Rest['answerTrpc'] {
  const { router, hooks, streams, limits } = options;
  const opened = new WeakMap<IncomingMessage, Context>();
  const serve = (req: IncomingMessage, res: ServerResponse, path: string): Promise<void> =>
    nodeHTTPRequestHandler({
      router,
      req,
      res,
      path: path.slice(path.lastIndexOf('/') + 1),
      maxBodySize: limits.bodyBytes,
      ...(limits.batch === undefined ? {} : { maxBatchSize: limits.batch }),
      responseMeta: ({ errors }) => ({ headers: headersOf(errors, options.challenge(undefined)) }),
      createContext: async ({ info }) => {
        const context = opened.get(req) ?? (await createContext(options, req));
        if (streams === undefined) return context;
        context.stayOpen = openAnswer(streams, context, req, res);
        // The kind of procedure decides whether this is a stream, not the form of the address or the `Accept` of the client.
        if (info.type === 'subscription' && !opened.has(req)) openStream(streams, context, res);
        return context;
      },
      onError: ({ error, ctx, type, path: procedure }) => {
        // A procedure has logged its own error. An error in a stream, or before there was a context, is logged here.
        if (ctx === undefined || type === 'subscription') hooks.failed(req, error, { procedure });
      },
    });
  return async (request, response, path) => {
    if (streams === undefined || !isSubscription(router, path)) return serve(request, response, path);
    try {
      const context = await createContext(options, request);
      if (context.token !== null && context.actor === null) {
        throw new AccessError('unauthenticated', 'The login is unknown or has expired');
      }
      openStream(streams, context, response);
      opened.set(request, context);
    } catch (error) {
      options.fail(request, response, error);
      return;
    }
    return serve(request, response, path);
  };
}

/** Returns the headers of errors: how to authenticate for a 401, and when to retry for errors that are temporary. */
function headersOf(errors: readonly TRPCError[], challenge: string): Record<string, string> {
  const waits = errors.map(({ code, cause }) =>
    code === 'SERVICE_UNAVAILABLE' ? 5 : cause instanceof AccessError ? (cause.options.retryAfter ?? 0) : 0,
  );
  const longest = Math.max(0, ...waits);
  return {
    ...(errors.some(({ code }) => code === 'UNAUTHORIZED') && { 'WWW-Authenticate': challenge }),
    ...(longest > 0 && { 'Retry-After': String(longest) }),
  };
}

function isSubscription(router: AnyTRPCRouter, path: string): boolean {
  const procedures = router._def.procedures as Record<string, { _def: { type: string } }>;
  return Object.hasOwn(procedures, path) && procedures[path]?._def.type === 'subscription';
}

function openStream<Context extends RestContext>(
  streams: OpenStreams<Context>,
  context: Context,
  response: ServerResponse,
): void {
  try {
    streams.open(context, response);
  } catch (error) {
    throw asRpcError(error);
  }
}

/** Returns whether a request accepts server-sent events. */
export function isStream(request: IncomingMessage): boolean {
  return request.headers.accept?.includes('text/event-stream') === true;
}

async function createContext<Context extends RestContext>(
  { hooks, origin }: RestOptions<Context>,
  request: IncomingMessage,
): Promise<Context> {
  const context = await hooks.identify(request, 'trpc').catch((error: unknown) => {
    throw asRpcError(error);
  });
  const viaCookie = context.request.viaCookie && context.actor !== null;
  if (viaCookie && request.method !== 'GET' && !isSameOrigin(request, origin)) {
    throw asRpcError(new AccessError('forbidden', 'A request that changes something must come from this site'));
  }
  return context;
}

function asRpcError(error: unknown): TRPCError {
  const { reason, body } = publishError(error);
  return new TRPCError({ code: errorTable[reason].rpc, message: body.message, cause: error });
}
