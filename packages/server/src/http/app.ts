import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Host, RequestContext } from '@belay/api';
import { type Asset, assets, documentedPath } from '@belay/console';
import { isOutage, outageMessage } from '@belay/contract/outage';
import {
  type Actor,
  type Context,
  createReadiness,
  type Logger,
  noteOutage,
  oversightOf,
  roleVisibility,
} from '@belay/core';
import {
  beginRequest,
  cookieNames,
  createOpenStreams,
  createRest,
  isStream,
  negotiate,
  type OpenStreams,
  Refusal,
  type Rest,
  refuse,
  requestIds,
  send,
  sendOptions,
  stateOf,
} from '@belay/rest';
import { createScim, scimPath } from '@belay/scim';
import { type AnyTRPCRouter, TRPCError } from '@trpc/server';
import express, { type ErrorRequestHandler } from 'express';
import type { Meters } from '../meters.js';
import { countTogether, type SendCommand } from './count-together.js';
import { describeOnce } from './describe-once.js';
import { answerOwnPage, ownPage } from './home.js';
import { identify, type Site, signInFor } from './identify.js';
import { limitWaiting } from './limit-waiting.js';
import { isAuthPath, type Limits, limitRequests, type TrustProxy } from './limits.js';
import { createPages, type Pages } from './render.js';
import { logFailure, logRequest } from './request-log.js';
import { securityHeaders } from './security-headers.js';
import { traceRequest } from './trace-request.js';
import { answerUnsent, unsentPath } from './unsent.js';
import { verifyTogether } from './verify-together.js';

export interface AppOptions {
  context: Context;
  /** The root router of the mode; `serverRouter` in server mode. */
  router: AnyTRPCRouter;
  basePath: '/api/v1' | '';
  /** The address that browsers use; determines cookies, redirects and the origin check. */
  baseUrl: string;
  log: Logger;
  limits: Limits;
  /** The addresses whose forwarding headers are trusted. Default: none. */
  trustProxy?: TrustProxy;
  /** Sends a command to the shared Redis, which counts the rate limits; without it each process counts alone. */
  sendCommand?: SendCommand | undefined;
  /** Measures requests, and is read by GET /metrics; without it only counts are returned. */
  meters?: Meters | undefined;
  /** Returns whether a request is admitted; others get 421. Default: all. */
  admits?(request: IncomingMessage): boolean;
  counters: {
    uptimeMilliseconds(): number;
    /** Returns `healthy`, or a text that says why the queue backend is not. */
    scheduler(): Promise<string>;
    /** Returns for how long the oldest statement without a response has waited for the database, in milliseconds. */
    databaseWait(): number;
    /** Returns how many jobs of the queue this process has dropped. Default: none. */
    droppedJobs?(): { total: number; recent: number };
  };
}

export interface App {
  answer: RequestListener;
  /** Prepares the stop: /ready fails, event streams end (clients reconnect elsewhere) and connections are not kept alive. */
  drain(): void;
  /** Ends calls that wait for a change with the current state, because their connections are about to end. */
  endWaits(): void;
}

/** Creates the HTTP application: everything between a socket and a procedure. Opens no port and starts nothing. */
export function createApp(options: AppOptions): App {
  const { context, router, basePath, log, limits, counters, sendCommand, meters } = options;
  const baseUrl = new URL(options.baseUrl);
  let draining = false;
  let queueSeen = false;
  const scheduler = async () => {
    const said = await counters.scheduler();
    if (said === 'healthy') queueSeen = true;
    return said;
  };
  let requests = 0;
  const host: Host = {
    basePath,
    requests: () => requests,
    uptimeMilliseconds: () => counters.uptimeMilliseconds(),
    scheduler,
    droppedJobs: () => counters.droppedJobs?.() ?? { total: 0, recent: 0 },
    // Not ready until the queue has been healthy once; later outages of the queue do not count.
    readiness: createReadiness(context, async () => queueSeen || (await scheduler()) === 'healthy'),
    draining: () => draining,
  };
  const site: Site = { context, host, baseUrl, cookies: cookieNames(baseUrl), verify: verifyTogether(context) };
  const streams = openStreams(site, log);
  const pages = createPages(router, basePath, site.verify);
  const rest = createServerRest({ ...site, basePath }, { router, limits, streams, pages, meters });
  const scim = createScim({
    context,
    origin: baseUrl.origin,
    failed: (request, error) => logFailure(context, request, error),
  });
  const described = describeOnce(router, { baseUrl: baseUrl.origin, basePath, version: context.program.version });

  const nextRequestId = requestIds(context.newId);
  const headers = securityHeaders(baseUrl.protocol === 'https:');
  const documents = new Map<string, () => Asset | Promise<Asset>>([
    ...[...assets].map(([name, asset]) => [`${basePath}/assets/${name}`, () => asset] as const),
    [`${basePath}/openapi.json`, async () => (await described()).document],
    [`${basePath}/belay.schema.json`, describeConfigurationFile],
    [`${basePath}/reference`, async () => (await described()).reference],
  ]);

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.use((request, response, next) => {
    if (request.url.startsWith('/trpc/')) return next();
    if (isScim(request.url)) return scim.answer(request, response);
    const asked = pathOf(request.url);
    const own = ownPage(asked, basePath);
    if (own !== undefined) return answerOwnPage({ ...site, basePath, pages }, request, response, own);
    if (asked === `${basePath}${unsentPath}`) {
      return answerUnsent({ ...site, basePath, pages, bodyBytes: limits.bodyBytes }, request, response);
    }
    const documented = wantsPage(request) ? documentedPath(asked) : undefined;
    if (documented !== undefined) {
      stateOf(request).address = request.url;
      request.url = `${basePath}${documented}${request.url.slice(asked.length)}`;
    }
    const path = pathOf(request.url);
    const find = documents.get(path);
    if (find === undefined) return rest.answer(request, response);
    const allow = 'GET, HEAD, OPTIONS';
    if (request.method === 'OPTIONS') return sendOptions(response, allow);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const refusal = refuse(405, `${request.method} is not allowed here`, { Allow: allow });
      return rest.fail(request, response, refusal);
    }
    return sendDocument(request, response, find);
  });
  app.use('/trpc', (request, response) => {
    stateOf(request).route = '/trpc';
    if (draining && isStream(request)) {
      return rest.fail(request, response, refuse(503, 'This process is stopping'));
    }
    return rest.answerTrpc(request, response, request.path.slice(1));
  });
  const failed = lastResort(context, rest);
  app.use(failed satisfies ErrorRequestHandler);

  /** Handles requests of programs for documented paths without Express, which takes longer than the rest of such a request. */
  function dispatch(request: IncomingMessage, response: ServerResponse): void {
    if (rest.serves(pathOf(request.url ?? '')) && !wantsPage(request)) {
      rest.answer(request, response).catch((error: unknown) => failed(error, request, response));
    } else app(request, response);
  }
  const limit = limitRequests(limits, {
    isAuth: isAuthPath(basePath),
    refused(request, response, seconds) {
      const refusal = refuse(429, 'Too many requests', { 'Retry-After': String(seconds) });
      (isScim(request.url ?? '') ? scim : rest).fail(request, response, refusal);
    },
    trustProxy: options.trustProxy,
    store: (name) =>
      sendCommand && countTogether({ send: sendCommand, prefix: `belay:limit:${name}:`, delay: context.delay }),
  });
  const limitWait = limitWaiting({
    limit: context.timing.response.limit,
    waited: counters.databaseWait,
    delay: context.delay,
    late(request, response) {
      noteOutage(context, Object.assign(new Error('A request took too long'), { code: 'RESPONSE_TIMEOUT' }));
      (isScim(request.url ?? '') ? scim : rest).fail(request, response, refuse(503, outageMessage));
    },
  });
  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { url = '' } = request;
    const state = beginRequest(request, nextRequestId);
    logRequest(log, request, response, pathOf(url), state, meters);
    response.setHeader('X-Request-Id', state.id);
    for (const [name, value] of headers) response.setHeader(name, value);
    response.setHeader('Cache-Control', 'no-store');
    // Errors vary as well: each is a page or JSON, and depends on the caller.
    response.setHeader('Vary', 'Accept, Authorization, Cookie');
    if (draining) response.setHeader('Connection', 'close');
    if (options.admits?.(request) === false) {
      throw refuse(421, 'The Host header does not match an address of this server');
    }
    // An absolute-form target names a host that the client chose; no Belay client needs it.
    if (!url.startsWith('/')) throw refuse(400, 'The address must be a path');
    limitWait(request, response);
    traceRequest(request, response, state, () =>
      limit(request, response, (error) => {
        if (error === undefined) dispatch(request, response);
        else failed(error, request, response);
      }),
    );
  }

  return {
    answer(request, response) {
      requests += 1;
      try {
        begin(request, response);
      } catch (error) {
        failed(error, request, response);
      }
    },
    drain() {
      draining = true;
      streams.close();
    },
    endWaits: streams.endWaits,
  };
}

async function sendDocument(
  request: IncomingMessage,
  response: ServerResponse,
  find: () => Asset | Promise<Asset>,
): Promise<void> {
  const { type, body, version } = await find();
  // The response is the same for every caller, so a cache may share it.
  response.removeHeader('Vary');
  const lasting = version !== '' && request.url?.endsWith(`?v=${version}`) === true;
  response.setHeader('Cache-Control', lasting ? 'public, max-age=31536000, immutable' : 'public, max-age=300');
  send(response, 200, type, body);
}

/** Returns the JSON Schema of configuration files, for editors. */
async function describeConfigurationFile(): Promise<Asset> {
  const { writeConfigurationSchema } = await import('@belay/operations');
  return { type: 'application/schema+json; charset=utf-8', body: writeConfigurationSchema(), version: '' };
}

/** Returns whether an address is one for directories, which expect errors in the format of SCIM. */
function isScim(address: string): boolean {
  const path = pathOf(address);
  return path === scimPath || path.startsWith(`${scimPath}/`);
}

function pathOf(address: string): string {
  const query = address.indexOf('?');
  return query < 0 ? address : address.slice(0, query);
}

/** Creates the event streams of this process: at most the limit for one person, and none for a login that has ended. */
function openStreams({ context, verify }: Site, log: Logger): OpenStreams<RequestContext> {
  // With the oversight of the person, because a new configuration can add or remove an administrator or auditor.
  const describe = (actor: Actor) => JSON.stringify([actor, oversightOf(context, actor)]);
  return createOpenStreams<RequestContext>({
    personOf: ({ actor }) => (actor?.kind === 'user' ? { id: actor.id, described: describe(actor) } : undefined),
    describe: async (token) => {
      const login = await verify(token);
      return login === null ? null : describe(login.actor);
    },
    limit: () => context.catalog.current().limits.eventStreams,
    interval: () => context.timing.streamCheck,
    delay: context.delay,
    failed: (error) => {
      if (isOutage(error)) noteOutage(context, error);
      else log.warn({ error }, 'the logins of event streams could not be checked');
    },
  });
}

/** Creates the REST interface of the router's procedures, for the people and programs of this server. */
function createServerRest(
  site: Site & { basePath: string },
  parts: {
    router: AnyTRPCRouter;
    limits: Limits;
    streams: OpenStreams<RequestContext>;
    pages: Pages;
    meters?: Meters | undefined;
  },
): Rest {
  const { router, limits, streams, pages, meters } = parts;
  return createRest<RequestContext>({
    router,
    basePath: site.basePath,
    unprefixed: 'declared',
    origin: site.baseUrl.origin,
    cookies: site.cookies,
    limits: { bodyBytes: limits.bodyBytes, batch: limits.batch },
    streams,
    metrics: meters?.registry,
    challenge: (request) =>
      `Bearer realm="belay"${request?.headers.authorization === undefined ? '' : ', error="invalid_token"'}`,
    hooks: {
      identify: (request, transport) => identify(site, request, transport),
      guard({ operation, context, address, page }) {
        if (operation.rest.public === true || context.actor !== null) return undefined;
        if (page) return signInFor(site, address);
        throw refuse(401, context.token === null ? 'Sign in first' : 'The login is unknown or has expired');
      },
      render: pages,
      // The login is still verified in the database, because `identify` runs first.
      kept({ operation, context: { core, actor, request } }) {
        if (operation.procedure !== 'roles.list' || actor?.kind !== 'user') return undefined;
        // The result of a search also depends on the systems that the person may use, and on which of them respond now.
        if (request.url.searchParams.has('q')) return undefined;
        const catalog = core.catalog.current();
        return { of: catalog, as: roleVisibility(actor, catalog) };
      },
      failed: (request, error, detail) => logFailure(site.context, request, error, detail),
    },
  });
}

/** Handles unexpected errors: the details go to the log, never to the caller. */
function lastResort(context: Context, rest: Rest) {
  return (error: unknown, request: IncomingMessage, response: ServerResponse, _next?: unknown): void => {
    // A `TRPCError` is the failure of a procedure, which is already logged.
    if (!(error instanceof Refusal || error instanceof TRPCError)) logFailure(context, request, error);
    rest.fail(request, response, error);
  };
}

/** Returns whether a browser requests a page. Only pages have short addresses; programs use the documented paths. */
function wantsPage({ headers }: IncomingMessage): boolean {
  return negotiate(headers.accept, ['application/json', 'text/html']) === 'text/html';
}
