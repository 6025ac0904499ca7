import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReplyCookie, RestContext } from './exchange.js';
import type { RestHooks } from './hooks.js';
import { negotiate } from './negotiate.js';
import { published } from './refusal.js';
import { type CookieNames, writeCookie } from './security.js';
import { stateOf } from './state.js';

/** Writes a whole response. */
export function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

export function sendJson(response: ServerResponse, status: number, output: unknown): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(output));
}

export function sendHtml(response: ServerResponse, status: number, markup: string): void {
  send(response, status, 'text/html; charset=utf-8', markup);
}

/** Redirects to a path of this server or to an absolute URL. */
export function sendRedirect(response: ServerResponse, status: number, location: string): void {
  // Through URL, because an address made from input could carry bytes that a header must not.
  const { href } = new URL(location, 'http://relative.invalid');
  response.writeHead(status, { Location: href.replace(/^http:\/\/relative\.invalid/, ''), 'Content-Length': 0 });
  response.end();
}

/** Sends the methods that an address has, in the header `Allow`. */
export function sendOptions(response: ServerResponse, allow: string): void {
  response.writeHead(204, { Allow: allow });
  response.end();
}

/** How long the cookie that binds a sign-in to the browser is kept; core keeps the sign-in no longer. */
const flowSeconds = 600;

export function applyCookies(response: ServerResponse, names: CookieNames, cookies: readonly ReplyCookie[]): void {
  for (const cookie of cookies) {
    const name = names[cookie.kind];
    const { secure } = names;
    const written =
      cookie.value === null
        ? writeCookie(name, '', { secure, maxAgeSeconds: 0 })
        : cookie.kind === 'login'
          ? writeCookie(name, cookie.value, { secure, expires: cookie.expiresAt })
          : writeCookie(name, cookie.value, { secure, maxAgeSeconds: flowSeconds });
    response.appendHeader('Set-Cookie', written);
  }
}

export interface FailOptions<Context extends RestContext> {
  hooks: Pick<RestHooks<Context>, 'render'>;
  /** Value of WWW-Authenticate (RFC 9110, section 15.5.2). */
  challenge(request: IncomingMessage): string;
  /** The context of a request whose caller has been recognised. */
  contextOf(request: IncomingMessage): Context | undefined;
}

/** Sends an error without its internals, as JSON or as a page for a browser. */
export function sendError<Context extends RestContext>(
  options: FailOptions<Context>,
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
): void {
  if (response.headersSent) {
    // An incomplete response is cut off, so that the client notices; a complete one was sent in the meantime and is left alone.
    if (!response.writableEnded) response.destroy();
    return;
  }
  const { status, body, headers } = published(thrown);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status === 401) response.setHeader('WWW-Authenticate', options.challenge(request));
  if (status === 503 && !response.hasHeader('Retry-After')) response.setHeader('Retry-After', '5');
  if (negotiate(request.headers.accept, ['application/json', 'text/html']) === 'text/html') {
    const context = options.contextOf(request);
    sendHtml(response, status, options.hooks.render.error({ id: stateOf(request).id, status, body, context }));
  } else {
    sendJson(response, status, body);
  }
}
