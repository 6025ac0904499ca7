import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  completeLocalLogin,
  describeLocal,
  type LocalContext,
  type LocalRequestContext,
  localPerson,
} from '@belay/agent';
import {
  bodyType,
  challengeOf,
  createRouteTable,
  isForeseen,
  negotiate,
  type Operation,
  parseFields,
  parseJsonObject,
  published,
  Refusal,
  readBody,
  refuse,
  refuseField,
  renderMetrics,
  requestIds,
} from '@belay/rest';
import { type AnyTRPCRouter, callTRPCProcedure, TRPCError } from '@trpc/server';
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http';
import { returnPath } from './guard.js';
import { renderIntroduction, renderLocal, renderMessage, styleSource } from './page.js';

export interface LocalAppOptions {
  context: LocalContext;
  router: AnyTRPCRouter;
  /** Refuses what is not for this machine's user; see guard.ts. */
  guard(request: IncomingMessage, path: string): Promise<void>;
  uptimeMilliseconds(): number;
  newId(): string;
}

/** Largest body, in bytes. */
const bodyBytes = 64 * 1024;
const prefix = '/api/v1';

/** Agents accept no credentials: they act for the person who is signed in on the machine. Tells programs where to sign in. */
const challenge = 'Session realm="belay", sign_in="/auth"';

/** What every answer says to a browser: no frame, no script, no other origin, nothing kept. */
const headers: readonly (readonly [string, string])[] = [
  [
    'Content-Security-Policy',
    `default-src 'none'; style-src ${styleSource}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  ],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Referrer-Policy', 'no-referrer'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Cache-Control', 'no-store'],
  ['Vary', 'Accept'],
];

/** The HTTP host of agent and client mode: documented paths at the root and under the prefix, and tRPC for the SDK. */
export function createLocalApp(options: LocalAppOptions): RequestListener {
  const { context, router } = options;
  const table = createRouteTable(router);
  const nextId = requestIds(options.newId);
  let requests = 0;
  const host = { requests: () => requests, uptimeMilliseconds: options.uptimeMilliseconds };

  const contextOf = (request: IncomingMessage, id: string, path: string): LocalRequestContext => ({
    local: context,
    person: localPerson(context) ?? null,
    request: { id, path, accepts: acceptsHtml(request, ['application/json', 'text/html']) ? 'html' : 'json' },
    reply: { headers: {}, cookies: [] },
    host,
  });

  async function answer(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const address = request.url ?? '/';
    const query = address.indexOf('?');
    const path = query < 0 ? address : address.slice(0, query);
    const search = query < 0 ? '' : address.slice(query + 1);
    await options.guard(request, path);
    const secret = returnPath.exec(path)?.[1];
    if (secret !== undefined) return comeBack(request, response, { secret, search });
    if (path.startsWith('/trpc/')) {
      await nodeHTTPRequestHandler({
        router,
        req: request,
        res: response,
        path: path.slice('/trpc/'.length),
        maxBodySize: bodyBytes,
        createContext: async () => contextOf(request, id, path),
        responseMeta: ({ errors }) => ({ headers: challengeOf(errors, challenge) }),
      });
      return;
    }
    if (path === '/' || path === prefix || path === `${prefix}/`) return introduce(request, response);
    const found = table.find(path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path);
    if (found !== undefined && 'malformed' in found) {
      throw refuseField(found.malformed, 'is not percent-encoded UTF-8');
    }
    if (found === undefined) throw refuse(404, 'There is nothing at this address');
    const { route, parameters } = found;
    const operation = route.methods.get(request.method ?? '');
    if (request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: route.allow });
      response.end();
      return;
    }
    if (operation === undefined) throw refuse(405, `${request.method} is not offered here`, { Allow: route.allow });
    await call(request, response, { operation, parameters, search, made: contextOf(request, id, path) });
  }

  async function call(
    request: IncomingMessage,
    response: ServerResponse,
    given: { operation: Operation; parameters: Record<string, string>; search: string; made: LocalRequestContext },
  ): Promise<void> {
    const { operation, parameters, search, made } = given;
    const type = negotiate(request.headers.accept, operation.offers);
    if (type === undefined) throw refuse(406, `Only ${operation.offers.join(' and ')} can be had here`);
    made.request.accepts = type === 'text/html' ? 'html' : 'json';
    if (operation.rest.public !== true && made.person === null && type === 'text/html' && request.method === 'GET') {
      // Who is shown a page can sign in for it.
      redirect(response, '/auth');
      return;
    }
    const fields = await readFields(request, operation, { parameters, search, html: type === 'text/html' });
    const output: unknown = await callTRPCProcedure({
      router,
      path: operation.procedure,
      type: operation.type,
      ctx: made,
      getRawInput: async () => (operation.input === undefined ? undefined : fields),
      signal: undefined,
      batchIndex: 0,
    });
    const { status = 200, location } = made.reply;
    if (location !== undefined) return redirect(response, location);
    if (operation.rest.metrics === true && type !== 'application/json') {
      const text = renderMetrics(output, type);
      return send(response, status, text.type, text.body);
    }
    const page = type === 'text/html' ? renderLocal(operation.procedure, output) : undefined;
    if (page !== undefined) return send(response, status, 'text/html; charset=utf-8', page);
    send(response, status, 'application/json; charset=utf-8', JSON.stringify(output));
  }

  /** What listens here, and where to go on: for people who open the address, and programs that look around. */
  function introduce(request: IncomingMessage, response: ServerResponse): void {
    const allow = 'GET, HEAD, OPTIONS';
    if (request.method === 'OPTIONS') {
      response.writeHead(204, { Allow: allow });
      response.end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw refuse(405, `${request.method} is not offered here`, { Allow: allow });
    }
    const about = describeLocal(context);
    if (acceptsHtml(request, ['application/json', 'text/html'])) {
      send(response, 200, 'text/html; charset=utf-8', renderIntroduction(about, table.routes));
    } else {
      send(response, 200, 'application/json; charset=utf-8', JSON.stringify(about));
    }
  }

  /** The browser comes back from the server's sign-in. */
  async function comeBack(
    request: IncomingMessage,
    response: ServerResponse,
    { secret, search }: { secret: string; search: string },
  ): Promise<void> {
    // Nothing is here for anybody else: an address that was used, or never given out, is no address.
    if (request.method !== 'GET') throw refuse(404, 'There is nothing at this address');
    const code = new URLSearchParams(search).get('code') ?? undefined;
    const done = await completeLocalLogin(context, { secret, code });
    if (done === undefined) throw refuse(404, 'There is nothing at this address');
    if (done.callback !== undefined) return redirect(response, done.callback);
    const text = `This machine has a session with ${done.provider} for ${done.email}. You can close this page.`;
    send(response, 200, 'text/html; charset=utf-8', renderMessage('You are signed in', text));
  }

  return (request, response) => {
    requests += 1;
    const id = nextId();
    response.setHeader('X-Request-Id', id);
    for (const [name, value] of headers) response.setHeader(name, value);
    void answer(request, response, id).catch((thrown: unknown) => {
      if (!(thrown instanceof Refusal) && !(thrown instanceof TRPCError) && !isForeseen(thrown)) {
        context.log.error({ requestId: id, error: thrown }, 'request failed');
      }
      fail(request, response, thrown);
    });
  };
}

/** Input from the path and the query, or from a JSON body; nothing is converted but the text of a query. */
async function readFields(
  request: IncomingMessage,
  operation: Operation,
  given: { parameters: Record<string, string>; search: string; html: boolean },
): Promise<Record<string, unknown>> {
  const fields = Object.create(null) as Record<string, unknown>;
  if (operation.input === undefined) {
    parseFields(given.search, operation.kinds, fields);
    const [stray] = Object.keys(fields);
    if (stray !== undefined) throw refuseField(stray, 'is not known here');
    return fields;
  }
  if (request.method === 'POST') {
    parseFields(given.search, operation.kinds, fields);
    const [stray] = Object.keys(fields);
    if (stray !== undefined) throw refuseField(stray, 'belongs in the body');
    // Only what a page of another origin cannot send without being asked about it first.
    if (bodyType(request) !== 'application/json') throw refuse(415, 'The body must be application/json');
    Object.assign(fields, parseJsonObject(await readBody(request, bodyBytes)));
  } else {
    parseFields(given.search, operation.kinds, fields, { skipEmpty: given.html });
  }
  for (const [name, value] of Object.entries(given.parameters)) {
    if (name in fields) throw refuseField(name, 'is in the path already');
    fields[name] = value;
  }
  return fields;
}

function acceptsHtml(request: IncomingMessage, offers: readonly string[]): boolean {
  return negotiate(request.headers.accept, offers) === 'text/html';
}

function fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, body, headers: more } = published(thrown);
  for (const [name, value] of Object.entries(more)) response.setHeader(name, value);
  if (status === 401) response.setHeader('WWW-Authenticate', challenge);
  if (status === 503) response.setHeader('Retry-After', '5');
  if (acceptsHtml(request, ['application/json', 'text/html'])) {
    send(response, status, 'text/html; charset=utf-8', renderMessage('This did not work', body.message));
  } else {
    send(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
  }
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { Location: location, 'Content-Length': 0 });
  response.end();
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
