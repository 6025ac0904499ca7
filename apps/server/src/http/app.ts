import { describeApi, type Host, isForeseen } from '@belay/api';
import type { Context, Logger } from '@belay/core';
import type { AnyTRPCRouter } from '@trpc/server';
import express, { type ErrorRequestHandler, type Express } from 'express';
import helmet from 'helmet';
import { send, sendError } from './answer.js';
import type { Site } from './identify.js';
import { type Limits, limitRequests } from './limits.js';
import { stylesheetPath } from './pages/page.js';
import { stylesheet } from './pages/stylesheet.js';
import { Refusal, refuse } from './refusal.js';
import { logRequests } from './request-log.js';
import { createRestHandler } from './rest.js';
import { cookieNames } from './security.js';
import { stateOf } from './state.js';
import { createTrpcMount } from './trpc-mount.js';

export interface AppOptions {
  context: Context;
  /** The root router of the mode; `serverRouter` in server mode. */
  router: AnyTRPCRouter;
  basePath: '/api/v1' | '';
  /** Where browsers reach us: cookies, redirects and the origin check follow from it. */
  baseUrl: string;
  log: Logger;
  limits: Limits;
  /** Express's `trust proxy`: which addresses may say for whom they forward. Nobody, unless told. */
  trustProxy?: boolean | number | string | string[];
  counters: {
    uptimeMilliseconds(): number;
    /** State of the queue backend, in a word. */
    scheduler(): Promise<string>;
  };
}

export interface App {
  app: Express;
  /** From now on /ready says no, event streams end (clients reconnect elsewhere) and connections are not kept. */
  drain(): void;
}

/** The HTTP host: everything between a socket and a procedure. It opens no port and starts nothing. */
export function createApp(options: AppOptions): App {
  const { context, router, basePath, log, limits, counters } = options;
  const baseUrl = new URL(options.baseUrl);
  let draining = false;
  let requests = 0;
  const host: Host = {
    basePath,
    requests: () => requests,
    uptimeMilliseconds: () => counters.uptimeMilliseconds(),
    scheduler: () => counters.scheduler(),
    draining: () => draining,
  };
  const site: Site = { context, host, baseUrl, cookies: cookieNames(baseUrl) };
  const trpc = createTrpcMount(site, router, limits);
  const rest = createRestHandler({ ...site, router, basePath, bodyBytes: limits.bodyBytes });
  const version = context.program.version;
  const document = JSON.stringify(describeApi(router, { baseUrl: baseUrl.origin, basePath, version }));

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('trust proxy', options.trustProxy ?? false);
  app.use(
    logRequests(log, context.newId, () => {
      requests += 1;
    }),
  );
  app.use(securityHeaders(baseUrl.protocol === 'https:'));
  app.use((request, response, next) => {
    // An absolute-form target names a host of the client's choosing; nothing of ours needs it.
    if (!request.url.startsWith('/'))
      return sendError(request, response, refuse(400, 'The address must be a path'), basePath);
    response.setHeader('Cache-Control', 'no-store');
    if (draining) response.setHeader('Connection', 'close');
    next();
  });
  app.use(
    ...limitRequests(limits, isAuthPath(basePath), (request, response, seconds) => {
      const refusal = refuse(429, 'Too many requests', { 'Retry-After': String(seconds) });
      sendError(request, response, refusal, basePath);
    }),
  );
  app.get(stylesheetPath(basePath), (_request, response) => {
    response.setHeader('Cache-Control', 'public, max-age=3600');
    send(response, 200, 'text/css; charset=utf-8', stylesheet);
  });
  app.get(`${basePath}/openapi.json`, (_request, response) => send(response, 200, 'application/json', document));
  app.use('/trpc', (request, response, next) => {
    if (draining && request.headers.accept?.includes('text/event-stream') === true) {
      return sendError(request, response, refuse(503, 'This process is stopping'), basePath);
    }
    return trpc.handler(request, response, next);
  });
  app.use((request, response) => rest(request, response));
  app.use(lastResort(log, basePath));

  return {
    app,
    drain() {
      draining = true;
      trpc.closeStreams();
    },
  };
}

/** No script at all, styles from our own sheet only, nothing in a frame (design §8). */
function securityHeaders(https: boolean): express.RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    // Not `no-referrer`: with it a browser sends `Origin: null` with our own forms.
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: https ? { maxAge: 31_536_000, includeSubDomains: false } : false,
  });
}

/** Where a credential is checked or handed out, and guessing would pay. */
function isAuthPath(basePath: string): (path: string) => boolean {
  const prefixes = [`${basePath}/auth/request`, `${basePath}/auth/callback`, `${basePath}/auth/token`, '/trpc/auth.'];
  return (path) => prefixes.some((prefix) => path.startsWith(prefix));
}

/** Whatever slipped through: the caller learns nothing, the log everything. */
function lastResort(log: Logger, basePath: string): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    if (!(error instanceof Refusal) && !isForeseen(error)) {
      log.error({ requestId: stateOf(request).id, error }, 'request failed');
    }
    sendError(request, response, error, basePath);
  };
}
