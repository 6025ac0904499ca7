import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorBody } from '@belay/contract/errors';
import type { AnyTRPCRouter } from '@trpc/server';
import type { Registry } from 'prom-client';
import type { RequestInfo, RestContext } from './exchange.js';
import type { InputLimits } from './input.js';
import type { OpenStreams } from './open-streams.js';
import type { Operation, RouteTable } from './route-table.js';
import type { CookieNames } from './security.js';

/** The decisions that a host of procedures makes itself. All other parts of HTTP are the same for every host. */
export interface RestHooks<Context extends RestContext> {
  /** Recognises the caller and makes the context of the request's procedures. `operation` is undefined for tRPC. */
  identify(request: IncomingMessage, transport: RequestInfo['transport'], operation?: Operation): Promise<Context>;
  /**
   * Called with each request for a documented path before its body is read, but not for tRPC. Throws when the caller
   * may not make the request. Returns the address of the sign-in when a browser has to go there first.
   */
  guard(asked: Asked<Context>): string | undefined;
  render: Renderer<Context>;
  /**
   * Returns what the JSON response to a GET depends on besides its address: `of` is an object that is replaced when its content
   * changes, `as` a text that is equal for callers who get the same response. Undefined when the response must not be kept. Called
   * after `guard`.
   */
  kept?(asked: { operation: Operation; context: Context }): { of: object; as: string } | undefined;
  /** Logs an error that no procedure has logged. */
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

/** A page to be sent. `leadsTo` is the origin that its form redirects to, which the Content-Security-Policy has to allow. */
export type Rendered = { markup: string; leadsTo?: string | undefined } | { redirect: string };

export interface Shown<Context> {
  operation: Operation;
  context: Context;
  input: Readonly<Record<string, unknown>>;
}

/** Makes the pages that browsers get where programs get JSON. */
export interface Renderer<Context extends RestContext> {
  /** Returns the output of a procedure as a page; undefined when it has no page. */
  output(shown: Shown<Context>, output: unknown): Promise<Rendered | undefined>;
  /** Returns the page on which a person confirms what a link would do. */
  confirmation(shown: Shown<Context>, asked: { title: string; address: string }): Promise<string>;
  /** Returns the page of a rejected form with the values that were sent; undefined when there is none. */
  rejected(shown: Shown<Context>, body: ErrorBody): Promise<string | undefined>;
  /**
   * Returns the page that keeps a form of our own which was rejected because the login of its sender has ended or changed since it
   * was shown; undefined when nothing can be kept. `address` is what the form was posted to, `shownTo` the value in the form that
   * says for whom it was made.
   */
  unsent?(shown: Shown<Context> & { address: string; shownTo: string }): Promise<string | undefined>;
  /** Returns the page of an error. The context is undefined when the error came before the caller was recognised. */
  error(failed: { id: string; status: number; body: ErrorBody; context: Context | undefined }): string;
}

export interface RestOptions<Context extends RestContext> {
  router: AnyTRPCRouter;
  hooks: RestHooks<Context>;
  /** Prefix of the documented paths. */
  basePath: string;
  /** Which paths are also served without the prefix: those that declare it (`atRoot`), or every path. */
  unprefixed: 'declared' | 'every';
  /** Scheme, host and port at which browsers reach us. */
  origin: string;
  cookies: CookieNames;
  limits: InputLimits & {
    /** Calls in one tRPC batch. */
    batch?: number;
  };
  /** Counts event streams and responses that wait; without it they are not counted. */
  streams?: OpenStreams<Context>;
  /** The metrics of the host, which GET /metrics returns besides its own numbers when a scraper requests text. */
  metrics?: Registry | undefined;
  /** Value of WWW-Authenticate (RFC 9110, section 15.5.2). */
  challenge(request: IncomingMessage | undefined): string;
}

export interface Rest {
  /** Responds to a request for a documented path; 404 for any other. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Responds to a call of tRPC. `path` names its procedures. */
  answerTrpc(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
  /** Sends an error without its internals, in the caller's media type. */
  fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): void;
  /** Returns whether there is a documented path at this address, which has no query. */
  serves(path: string): boolean;
  routes: RouteTable['routes'];
}
