import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { ipKeyGenerator, rateLimit, type Store } from 'express-rate-limit';
import proxyAddress from 'proxy-addr';

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

/** Generous limits: they stop a flood, but not a busy office behind one address. */
export const defaultLimits: Limits = {
  bodyBytes: 256 * 1024,
  windowMilliseconds: 60_000,
  requests: 12_000,
  authRequests: 300,
  batch: 20,
};

/** The proxies whose forwarding headers are trusted: all, a number of hops, or addresses and networks. */
export type TrustProxy = boolean | number | string | string[];

/**
 * Returns a function that counts requests by address and calls `refused`, which sends 429, past the limit. One counter is for all
 * requests, and a stricter one for sign-in. `store` creates the store of a counter by name; without it, this process counts.
 */
export function limitRequests(
  limits: Limits,
  options: {
    isAuth(path: string): boolean;
    refused(request: IncomingMessage, response: ServerResponse, retryAfterSeconds: number): void;
    trustProxy?: TrustProxy | undefined;
    store?(name: string): Store | undefined;
  },
): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void {
  const { isAuth, refused, store } = options;
  const addressOf = addressBehind(options.trustProxy ?? false);
  const limiter = (limit: number, kept: Store | undefined) =>
    rateLimit({
      windowMs: limits.windowMilliseconds,
      limit,
      standardHeaders: false,
      legacyHeaders: false,
      keyGenerator: (request) => ipKeyGenerator(addressOf(request)),
      handler: (request, response) =>
        refused(request, response, Math.max(1, Math.ceil(limits.windowMilliseconds / 1000))),
      // The operator configures whether a proxy is trusted; a header cannot.
      validate: false,
      ...(kept === undefined ? {} : { store: kept }),
    });
  const all = limiter(limits.requests, store?.('all'));
  const auth = limiter(limits.authRequests, store?.('auth'));
  return (given, answer, next) => {
    // The limiter has types of Express, but with these settings it uses nothing of Express.
    const [request, response] = [given as Request, answer as Response];
    all(request, response, (error?: unknown) => {
      if (error === undefined && isAuth(request.url)) auth(request, response, next);
      else next(error);
    });
  };
}

function addressBehind(trust: TrustProxy): (request: IncomingMessage) => string {
  if (trust === false) return ({ socket }) => socket.remoteAddress ?? '';
  const trusts = trustOf(trust);
  return (request) => proxyAddress(request, trusts) ?? '';
}

function trustOf(trust: Exclude<TrustProxy, false>): (address: string, hops: number) => boolean {
  if (trust === true) return () => true;
  if (typeof trust === 'number') return (_address, hops) => hops < trust;
  return proxyAddress.compile(typeof trust === 'string' ? trust.split(',').map((each) => each.trim()) : trust);
}

/** Returns whether a path, with or without its query, checks or issues credentials, so that guessing must be limited. */
export function isAuthPath(basePath: string): (path: string) => boolean {
  const prefixes = [
    ...['request', 'callback', 'token', 'session', 'device', 'program'].map((name) => `${basePath}/auth/${name}`),
    `${basePath}/events/`,
    `${basePath}/hooks/`,
  ];
  // A batch names several procedures in any order. They may be percent-encoded, so every path with a `%` counts as sign-in.
  return (path) =>
    path.startsWith('/trpc/')
      ? /events\.|hooks\.|auth\.|device\.|program\.|sessions\.verify|%/i.test(path.split('?', 1)[0] ?? '')
      : prefixes.some((each) => path.startsWith(each));
}
