import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Credential {
  /** The token as the client sent it; null when it sent none that can be read. */
  token: string | null;
  viaCookie: boolean;
}

export interface CookieNames {
  login: string;
  flow: string;
  secure: boolean;
}

/**
 * Returns the names of the cookies. With https their prefix makes the browser reject a cookie that another host or a
 * page without TLS set (RFC 6265bis).
 */
export function cookieNames(baseUrl: URL): CookieNames {
  const secure = baseUrl.protocol === 'https:';
  return secure
    ? { login: '__Host-belay', flow: '__Host-belay-flow', secure }
    : { login: 'belay', flow: 'belay-flow', secure };
}

/**
 * Returns one cookie of a request; undefined when it is absent, malformed, or sent twice (one of the two is not ours).
 */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const header = request.headers.cookie;
  if (header === undefined) return undefined;
  const values = header.split(';').flatMap((pair) => {
    const separator = pair.indexOf('=');
    return separator > 0 && pair.slice(0, separator).trim() === name ? [pair.slice(separator + 1).trim()] : [];
  });
  return values.length === 1 && /^[\w.~+/=-]{1,4096}$/.test(values[0] ?? '') ? values[0] : undefined;
}

/** Returns a Set-Cookie header value. `Lax`, because the provider sends the browser back from another site. */
export function writeCookie(
  name: string,
  value: string,
  options: { secure: boolean; expires?: Date; maxAgeSeconds?: number },
): string {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (options.secure) parts.push('Secure');
  if (options.expires !== undefined) parts.push(`Expires=${options.expires.toUTCString()}`);
  if (options.maxAgeSeconds !== undefined) parts.push(`Max-Age=${options.maxAgeSeconds}`);
  return parts.join('; ');
}

/**
 * Returns the credential of a request. A bearer token takes precedence over a cookie. With an Authorization header that is not a
 * bearer token the request has no credential, and its cookie is ignored (fail closed).
 */
export function readCredential(request: IncomingMessage, cookies: CookieNames): Credential {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const match = /^Bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i.exec(authorization);
    return { token: match?.[1] ?? null, viaCookie: false };
  }
  const token = readCookie(request, cookies.login);
  return { token: token ?? null, viaCookie: token !== undefined };
}

/**
 * Returns true when the browser states that our own page or the person made this request; false when it does not say.
 */
export function isSameOrigin(request: IncomingMessage, origin: string): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return request.headers.origin === origin;
}

/** Returns true when the browser only prefetches: the person has not clicked the link yet. */
export function isPrefetch(request: IncomingMessage): boolean {
  const purposes = [request.headers['sec-purpose'], request.headers.purpose, request.headers['x-moz']];
  return purposes.some((purpose) => /\bprefetch|\bpreview/i.test(String(purpose ?? '')));
}

/**
 * Returns the token of a form of our own pages. It is bound to the login, whose secret is the key, and to the exact address that the
 * form is posted to.
 */
export function confirmationToken(loginToken: string, address: string): string {
  return createHmac('sha256', loginToken).update(`belay confirmation\n${address}`).digest('base64url');
}

/** Returns whether a token is that of this login and this address; compares in constant time. */
export function isConfirmationToken(given: unknown, loginToken: string, address: string): boolean {
  if (typeof given !== 'string') return false;
  const expected = Buffer.from(confirmationToken(loginToken, address));
  const actual = Buffer.from(given);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}
