import type { Request, RequestHandler, Response } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';

export interface Limits {
  /** Largest body, in bytes. */
  bodyBytes: number;
  /** Length of the window in which requests are counted, in milliseconds. */
  windowMilliseconds: number;
  /** Requests of one address in a window. */
  requests: number;
  /** Requests of one address in a window to the endpoints that check or hand out credentials. */
  authRequests: number;
  /** Calls in one tRPC batch. */
  batch: number;
}

/** Generous: they stop a flood, not a busy office behind one address. */
export const defaultLimits: Limits = {
  bodyBytes: 256 * 1024,
  windowMilliseconds: 60_000,
  requests: 12_000,
  authRequests: 300,
  batch: 20,
};

/**
 * Counts requests by address; past the limit `refused` answers 429. One counter for all, a stricter one for sign-in. `store`
 * makes where a counter of this name is kept; in this process, when it makes none.
 */
export function limitRequests(
  limits: Limits,
  isAuth: (path: string) => boolean,
  refused: (request: Request, response: Response, retryAfterSeconds: number) => void,
  store: (name: string) => Store | undefined = () => undefined,
): RequestHandler {
  const limiter = (limit: number, kept: Store | undefined): RequestHandler =>
    rateLimit({
      windowMs: limits.windowMilliseconds,
      limit,
      standardHeaders: false,
      legacyHeaders: false,
      handler: (request, response) =>
        refused(request, response, Math.max(1, Math.ceil(limits.windowMilliseconds / 1000))),
      // The operator configures whether a proxy is trusted; a header cannot.
      validate: false,
      ...(kept === undefined ? {} : { store: kept }),
    });
  const all = limiter(limits.requests, store('all'));
  const auth = limiter(limits.authRequests, store('auth'));
  return (request, response, next) =>
    all(request, response, (error?: unknown) => {
      if (error !== undefined) next(error);
      else if (isAuth(request.url)) auth(request, response, next);
      else next();
    });
}

/** Returns whether a path, with or without its query, checks or issues credentials, so that guessing must be limited. */
export function isAuthPath(basePath: string): (path: string) => boolean {
  const prefixes = [
    ...['request', 'callback', 'token', 'session', 'device', 'program'].map((name) => `${basePath}/auth/${name}`),
    `${basePath}/events/`,
    `${basePath}/hooks/`,
  ];
  // A batch names several procedures, in any order and in any escaping; what cannot be told apart counts as sign-in.
  return (path) =>
    path.startsWith('/trpc/')
      ? /events\.|hooks\.|auth\.|device\.|program\.|sessions\.verify|%/i.test(path.split('?', 1)[0] ?? '')
      : prefixes.some((each) => path.startsWith(each));
}
