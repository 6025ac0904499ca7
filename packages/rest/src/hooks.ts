import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorBody } from '@belay/contract/errors';
import type { AnyTRPCRouter } from '@trpc/server';
import type { Registry } from 'prom-client';
import type { RequestInfo, RestContext } from './exchange.js';
import type { InputLimits } from './input.js';
import type { OpenStreams } from './open-streams.js';
import type { Operation, RouteTable } from './route-table.js';
import type { CookieNames } from './security.js';

/** What a host of procedures says for itself. Everything else of HTTP is the same for all. */
export interface RestHooks<Context extends RestContext> {
  /** Recognises the caller and makes the context of the request's procedures. `operation` is undefined for tRPC. */
  identify(request: IncomingMessage, transport: RequestInfo['transport'], operation?: Operation): Promise<Context>;
  /**
   * Called with each request before its body is read. Throws when the caller may not make it, and returns where a
   * browser signs in first, if it has to.
   */
  guard(asked: Asked<Context>): string | undefined;
  render: Renderer<Context>;
  /**
   * What the JSON answer to a GET depends on beside its address, when it may be kept: an object that is replaced when
   * it changes, and a text that is the same for callers who get the same. Called after `guard`. Undefined for what is
   * made anew each time.
   */
  kept?(asked: { operation: Operation; context: Context }): { of: object; as: string } | undefined;
  /** Told of a failure that no procedure has told of, so that it is in the log. */
  failed(request: IncomingMessage, error: unknown, detail?: object): void;
}

export interface Asked<Context> {
  operation: Operation;
  context: Context;
  /** Path and query. */
  address: string;
  /** Whether a browser requests an existing page. */
  page: boolean;
}

/** A page to be sent; `leadsTo` is the origin that its form leads on to, which the browser has to be told. */
export type Rendered = { markup: string; leadsTo?: string | undefined } | { redirect: string };

export interface Shown<Context> {
  operation: Operation;
  context: Context;
  input: Readonly<Record<string, unknown>>;
}

/** How browsers see what programs read as JSON. */
export interface Renderer<Context extends RestContext> {
  /** The output of a procedure as a page; undefined when it has none. */
  output(shown: Shown<Context>, output: unknown): Promise<Rendered | undefined>;
  /** The page that asks before a link acts. */
  confirmation(shown: Shown<Context>, asked: { title: string; address: string }): Promise<string>;
  /** The page whose form was rejected, as it was filled in; undefined when there is none. */
  rejected(shown: Shown<Context>, body: ErrorBody): Promise<string | undefined>;
  /**
   * The page that keeps a form of our own which was not accepted, because its sender has no login any more, or another one than
   * it was shown with; undefined when nothing can be kept. `address`: that the form was posted to; `shownTo`: what it says of whom
   * it was shown to.
   */
  unsent?(shown: Shown<Context> & { address: string; shownTo: string }): Promise<string | undefined>;
  /** The page of an error. The context is undefined for a caller who is not recognised yet. */
  error(failed: { id: string; status: number; body: ErrorBody; context: Context | undefined }): string;
}

export interface RestOptions<Context extends RestContext> {
  router: AnyTRPCRouter;
  hooks: RestHooks<Context>;
  /** Prefix of the documented paths. */
  basePath: string;
  /** Which paths are served without the prefix as well: those that say so, or every one. */
  unprefixed: 'declared' | 'every';
  /** Scheme, host and port at which browsers reach us. */
  origin: string;
  cookies: CookieNames;
  limits: InputLimits & {
    /** Calls in one tRPC batch. */
    batch?: number;
  };
  /** Counts event streams and answers that wait; none are counted without it. */
  streams?: OpenStreams<Context>;
  /** What the host measures, which GET /metrics returns beside its own numbers when a scraper requests text. */
  metrics?: Registry | undefined;
  /** Value of WWW-Authenticate (RFC 9110, section 15.5.2). */
  challenge(request: IncomingMessage | undefined): string;
}

export interface Rest {
  /** Answers a request for a documented path; 404 for any other. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Answers a call of tRPC. `path` names its procedures. */
  answerTrpc(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
  /** Answers with what may be said of an error, in the caller's media type. */
  fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): void;
  /** Returns whether there is a documented path at this address, which has no query. */
  serves(path: string): boolean;
  routes: RouteTable['routes'];
}
