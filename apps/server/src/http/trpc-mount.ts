import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '@belay/api';
import { AccessError } from '@belay/core';
import { challengeOf, errorTable, isSameOrigin, publishError } from '@belay/rest';
import { type AnyTRPCRouter, TRPCError } from '@trpc/server';
import { createExpressMiddleware } from '@trpc/server/adapters/express';
import type { RequestHandler } from 'express';
import { sendError } from './answer.js';
import { identify, type Site } from './identify.js';
import type { Limits } from './limits.js';
import { logFailure } from './log-failure.js';
import type { OpenStreams } from './open-streams.js';

/**
 * tRPC for the SDK, server-sent events included. A stream that is refused has the status of its refusal: tRPC itself would
 * begin it, and say so in its first event.
 */
export function createTrpcMount(
  site: Site,
  router: AnyTRPCRouter,
  limits: Limits,
  options: { basePath: string; streams: OpenStreams },
): RequestHandler {
  const { basePath, streams } = options;
  const opened = new WeakMap<IncomingMessage, RequestContext>();
  const serve = createExpressMiddleware({
    router,
    maxBodySize: limits.bodyBytes,
    maxBatchSize: limits.batch,
    responseMeta: ({ errors }) => {
      const waits = errors.map(({ code, cause }) =>
        code === 'SERVICE_UNAVAILABLE' ? 5 : cause instanceof AccessError ? (cause.options.retryAfter ?? 0) : 0,
      );
      const longest = Math.max(0, ...waits);
      const challenge = challengeOf(errors, 'Bearer realm="belay"');
      return { headers: { ...challenge, ...(longest > 0 && { 'Retry-After': String(longest) }) } };
    },
    createContext: async ({ req, res, info }) => {
      const context = opened.get(req) ?? (await createContext(site, req));
      context.stayOpen = () => streams.open(context, res, 'answer');
      // The kind of procedure decides, not how its address was written or what the client says that it accepts.
      if (info.type === 'subscription' && !opened.has(req)) openStream(streams, context, res);
      return context;
    },
    onError: ({ error, ctx, type, path, req }) => {
      // A procedure has logged its own failure; a stream that breaks and a context that was never made have not.
      if (ctx !== undefined && type !== 'subscription') return;
      logFailure(site.context, req, error, { procedure: path });
    },
  });
  return async (request, response, next) => {
    if (!isSubscription(router, request.path)) return serve(request, response, next);
    try {
      const context = await createContext(site, request);
      if (context.token !== null && context.actor === null) {
        throw new AccessError('unauthenticated', 'The login is unknown or has expired');
      }
      openStream(streams, context, response);
      opened.set(request, context);
    } catch (error) {
      sendError(request, response, error, basePath);
      return;
    }
    return serve(request, response, next);
  };
}

function isSubscription(router: AnyTRPCRouter, path: string): boolean {
  const procedures = router._def.procedures as Record<string, { _def: { type: string } }>;
  const name = path.slice(1);
  return Object.hasOwn(procedures, name) && procedures[name]?._def.type === 'subscription';
}

function openStream(streams: OpenStreams, context: RequestContext, response: ServerResponse): void {
  try {
    streams.open(context, response);
  } catch (error) {
    throw asRpcError(error);
  }
}

/** Whether a request asks for server-sent events. */
export function isStream(request: IncomingMessage): boolean {
  return request.headers.accept?.includes('text/event-stream') === true;
}

async function createContext(site: Site, request: IncomingMessage): Promise<RequestContext> {
  const context = await identify(site, request, 'trpc').catch((error: unknown) => {
    throw asRpcError(error);
  });
  const viaCookie = context.request.viaCookie && context.actor !== null;
  if (viaCookie && request.method !== 'GET' && !isSameOrigin(request, site.baseUrl.origin)) {
    throw asRpcError(new AccessError('forbidden', 'A request that changes something must come from this site'));
  }
  return context;
}

function asRpcError(error: unknown): TRPCError {
  const { reason, body } = publishError(error);
  return new TRPCError({ code: errorTable[reason].rpc, message: body.message, cause: error });
}
