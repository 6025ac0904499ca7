import type { Context } from '../context.js';
import { invalid } from '../errors.js';

/**
 * Where a login may return to: the server's own pages, loopback programs, and what `server.callbacks` lists (origin and
 * path must match). Answers the absolute URL; throws `invalid`, naming `path`, for anything else, so that a login is no open redirect.
 */
export function checkCallback(ctx: Context, callback: string, path = 'callback'): URL {
  const base = new URL(ctx.program.baseUrl);
  let url: URL;
  try {
    url = new URL(callback, base);
  } catch {
    throw invalid(path, 'is not a URL');
  }
  if (url.username || url.password) throw invalid(path, 'must not carry credentials');
  const web = url.protocol === 'https:' || url.protocol === 'http:';
  const own = url.origin === base.origin;
  const listed = ctx.catalog
    .current()
    .callbacks.some((allowed) => new URL(allowed).origin === url.origin && new URL(allowed).pathname === url.pathname);
  if (web && (own || isLoopback(url) || listed)) return url;
  throw invalid(path, 'is not among the URLs that a login may return to (server.callbacks)');
}

/** A program on the person's own machine (RFC 8252, section 7.3). */
function isLoopback(url: URL): boolean {
  return url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}
