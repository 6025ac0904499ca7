import type { Request, RequestHandler, Response } from 'express';
import { rateLimit } from 'express-rate-limit';

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
  requests: 1_000_000,
  authRequests: 600,
  batch: 20,
};

/** Counts requests by address; past the limit `refused` answers 429. One counter for all, a stricter one for sign-in. */
export function limitRequests(
  limits: Limits,
  isAuth: (path: string) => boolean,
  refused: (request: Request, response: Response, retryAfterSeconds: number) => void,
): RequestHandler[] {
  const limiter = (limit: number, skip?: (request: Request) => boolean): RequestHandler =>
    rateLimit({
      windowMs: limits.windowMilliseconds,
      limit,
      standardHeaders: false,
      legacyHeaders: false,
      ...(skip === undefined ? {} : { skip }),
      handler: (request, response) =>
        refused(request, response, Math.max(1, Math.ceil(limits.windowMilliseconds / 1000))),
      // Said once at start by the host, not with every request that a proxy forwarded.
      validate: false,
    });
  return [limiter(limits.requests), limiter(limits.authRequests, (request) => !isAuth(request.path))];
}
