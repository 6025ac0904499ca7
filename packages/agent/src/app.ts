import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import {
  beginRequest,
  cookieNames,
  createRest,
  describeRequest,
  isForeseen,
  negotiate,
  type Operation,
  Refusal,
  type Rest,
  type RestHooks,
  refuse,
  requestIds,
  sendHtml,
  sendJson,
  sendOptions,
  sendRedirect,
  stateOf,
} from '@belay/rest';
import type { AnyTRPCRouter } from '@trpc/server';
import { returnPath } from './guard.js';
import { renderIntroduction, renderLocal, renderMessage, styleSource } from './page.js';
import type { LocalRequestContext } from './routers/trpc.js';
import { texts } from './texts.js';
import type { LocalContext } from './verbs/ports.js';
import { completeLocalLogin, localPerson } from './verbs/sessions.js';
import { describeLocal } from './verbs/system.js';

export interface LocalAppOptions {
  context: LocalContext;
  router: AnyTRPCRouter;
  /** Rejects requests that are not from this machine's user; see guard.ts. */
  guard(request: IncomingMessage, path: string): Promise<void>;
  uptimeMilliseconds(): number;
  newId(): string;
}

/** Largest body, in bytes. */
const bodyBytes = 64 * 1024;
const basePath = '/api/v1';
const representations = ['application/json', 'text/html'];

/**
 * The challenge of a 401 response, which tells programs where to sign in. Agents accept no credentials: they act for the person who is
 * signed in on this machine.
 */
const challenge = 'Session realm="belay", sign_in="/auth"';

/** The headers of every response: browsers may not frame the page, run scripts, share it with other origins or store it. */
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

/** Returns the HTTP handler of agent and client mode: the documented paths at the root and under the prefix, and tRPC for the SDK. */
export function createLocalApp(options: LocalAppOptions): RequestListener {
  const { context, router } = options;
  let requests = 0;
  const host = { requests: () => requests, uptimeMilliseconds: options.uptimeMilliseconds };
  const { origin } = new URL(context.program.baseUrl);
  // This program sets no cookies.
  const cookies = cookieNames(new URL(origin));
  const rest = createRest<LocalRequestContext>({
    router,
    basePath,
    unprefixed: 'every',
    origin,
    cookies,
    limits: { bodyBytes, jsonOnly: true },
    challenge: () => challenge,
    hooks: {
      async identify(request, transport, operation) {
        const person = localPerson(context) ?? null;
        const described = describeRequest(request, { origin, cookies, transport, viaCookie: false });
        described.accepts = acceptsHtml(request, operation) ? 'html' : 'json';
        return {
          local: context,
          actor: person,
          person,
          token: null,
          request: described,
          reply: { headers: {}, cookies: [] },
          host,
        };
      },
      // A page that needs a person redirects to the sign-in instead of showing an error.
      guard: ({ operation, context: { person }, page }) =>
        operation.rest.public !== true && person === null && page ? '/auth' : undefined,
      render,
      failed: (request, error, detail) => {
        if (!isForeseen(error))
          context.log.error({ requestId: stateOf(request).id, ...detail, error }, 'request failed');
      },
    },
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = request.url ?? '/';
    const query = address.indexOf('?');
    const path = query < 0 ? address : address.slice(0, query);
    await options.guard(request, path);
    const secret = returnPath.exec(path)?.[1];
    if (secret !== undefined) {
      return comeBack(context, request, response, { secret, search: query < 0 ? '' : address.slice(query + 1) });
    }
    if (path.startsWith('/trpc/')) return rest.answerTrpc(request, response, path.slice('/trpc/'.length));
    if (path === '/' || path === basePath || path === `${basePath}/`) {
      return introduce(context, rest.routes, request, response);
    }
    await rest.answer(request, response);
  }

  const nextId = requestIds(options.newId);
  return (request, response) => {
    requests += 1;
    const { id } = beginRequest(request, nextId);
    response.setHeader('X-Request-Id', id);
    for (const [name, value] of headers) response.setHeader(name, value);
    void answer(request, response).catch((thrown: unknown) => {
      if (!(thrown instanceof Refusal) && !isForeseen(thrown)) {
        context.log.error({ requestId: id, error: thrown }, 'request failed');
      }
      rest.fail(request, response, thrown);
    });
  };
}

/** Renders as a table what programs read as JSON. These pages have no forms. */
const render: RestHooks<LocalRequestContext>['render'] = {
  async output({ operation }, output) {
    const markup = renderLocal(operation.procedure, output);
    return markup === undefined ? undefined : { markup };
  },
  confirmation: async (_shown, { title }) => renderMessage(title),
  rejected: async () => undefined,
  error: ({ body }) => renderMessage(texts.failed, body.message),
};

/**
 * Describes this program and its addresses, at the root and at the prefix, for people and for programs that discover
 * it.
 */
function introduce(
  context: LocalContext,
  routes: Rest['routes'],
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method === 'OPTIONS') {
    sendOptions(response, allow);
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw refuse(405, `${request.method} is not allowed here`, { Allow: allow });
  }
  const about = describeLocal(context);
  if (acceptsHtml(request)) sendHtml(response, 200, renderIntroduction(about, routes));
  else sendJson(response, 200, about);
}

/** Handles the browser's return from the server's sign-in. */
async function comeBack(
  context: LocalContext,
  request: IncomingMessage,
  response: ServerResponse,
  { secret, search }: { secret: string; search: string },
): Promise<void> {
  // A sign-in address that was used, or never issued, responds like any unknown path.
  if (request.method !== 'GET') throw refuse(404, 'There is nothing at this address');
  const code = new URLSearchParams(search).get('code') ?? undefined;
  const done = await completeLocalLogin(context, { secret, code });
  if (done === undefined) throw refuse(404, 'There is nothing at this address');
  if (done.callback !== undefined) return sendRedirect(response, 302, done.callback);
  sendHtml(response, 200, renderMessage(texts.signedIn, texts.session(done.provider, done.email)));
}

function acceptsHtml(request: IncomingMessage, operation?: Operation): boolean {
  return negotiate(request.headers.accept, operation?.offers ?? representations) === 'text/html';
}
