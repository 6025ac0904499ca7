import { requireAbsoluteUrl } from '@belay/contract/absolute-url';
import { invalid } from '@belay/contract/errors';
import type { Store } from '../context.js';

/**
 * Returns where a login may return to: an absolute URL of the server's own pages, of a loopback program, or one that
 * `server.callbacks` lists (origin and path must match). Throws `invalid`, naming `path`, for anything else, so that a
 * login is not an open redirect.
 */
export function checkCallback(ctx: Store, callback: string, path = 'callback'): URL {
  const url = requireAbsoluteUrl(callback, path);
  const own = url.origin === new URL(ctx.program.baseUrl).origin;
  const listed = ctx.catalog
    .current()
    .callbacks.some((allowed) => new URL(allowed).origin === url.origin && new URL(allowed).pathname === url.pathname);
  if (own || isLoopback(url) || listed) return url;
  throw invalid(path, 'is not an allowed return URL; add it to server.callbacks');
}

/** Returns whether a URL belongs to a program on the person's own machine (RFC 8252, section 7.3). */
function isLoopback(url: URL): boolean {
  return url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}
