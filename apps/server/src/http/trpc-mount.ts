import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestContext } from '@belay/api';
import { errorTable, publishError } from '@belay/api';
import { AccessError } from '@belay/core';
import { type AnyTRPCRouter, TRPCError } from '@trpc/server';
import { createExpressMiddleware } from '@trpc/server/adapters/express';
import type { RequestHandler } from 'express';
import { identify, type Site } from './identify.js';
import type { Limits } from './limits.js';
import { logFailure } from './log-failure.js';
import { isSameOrigin } from './security.js';

/** tRPC for the SDK, server-sent events included. `closeStreams` ends these without saying they are complete, so that clients reconnect elsewhere. */
export function createTrpcMount(
  site: Site,
  router: AnyTRPCRouter,
  limits: Limits,
): { handler: RequestHandler; closeStreams(): void } {
  const streams = new Set<ServerResponse>();
  const serve = createExpressMiddleware({
    router,
    maxBodySize: limits.bodyBytes,
    maxBatchSize: limits.batch,
    createContext: ({ req }) => createContext(site, req),
    responseMeta: ({ errors }) =>
      errors.some(({ code }) => code === 'SERVICE_UNAVAILABLE') ? { headers: { 'Retry-After': '5' } } : {},
    onError: ({ error, ctx, type, path, req }) => {
      // A procedure has logged its own failure; a stream that breaks and a context that was never made have not.
      if (ctx !== undefined && type !== 'subscription') return;
      logFailure(site.context, req, error, { procedure: path });
    },
  });
  return {
    handler(request, response, next) {
      if (isStream(request)) {
        streams.add(response);
        response.once('close', () => streams.delete(response));
      }
      return serve(request, response, next);
    },
    closeStreams() {
      for (const response of streams) response.destroy();
    },
  };
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
