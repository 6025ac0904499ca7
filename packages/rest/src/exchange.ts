/** What the host knows about a request besides its input. */
export interface RequestInfo {
  /** The id of the request, in every log line and in the X-Request-Id of the response. */
  id: string;
  transport: 'rest' | 'trpc';
  method: string;
  /** Path as the client sent it, without the query. */
  path: string;
  /** The whole address under our base URL: an OAuth client compares it and reads `code` and `state` from it. */
  url: URL;
  accepts: 'json' | 'html';
  /** True when the client named JSON in `Accept`, and did not merely accept anything. */
  jsonRequested: boolean;
  secFetchSite?: string;
  /** True when the caller's credential is the login cookie, and not a bearer token. */
  viaCookie: boolean;
  /** Value of the header Idempotency-Key. */
  idempotencyKey?: string;
  /** The headers by name in lower case, without `Set-Cookie`. Node.js joins most repeated headers with a comma. */
  headers: Readonly<Record<string, string>>;
  /** The headers that a sender of Standard Webhooks adds to the body. */
  webhook?: { id: string; timestamp: string; signature: string };
  /** The value of the short-lived cookie that binds a sign-in to the browser that began it. */
  browserSecret?: string;
}

/** A cookie as data; the host knows its name and attributes. `value: null` clears it. */
export type ReplyCookie =
  | { kind: 'login'; value: string; expiresAt: Date }
  | { kind: 'flow'; value: string }
  | { kind: 'login' | 'flow'; value: null };

/** What a procedure sets in the response besides its output, as data; the host applies it. */
export interface Reply {
  status?: number;
  location?: string;
  headers: Record<string, string>;
  cookies: ReplyCookie[];
}

/** The context that every procedure has. It is made once for each request. */
export interface RestContext {
  /** The caller; null when the credential is missing or not valid. */
  actor: object | null;
  /** The secret of the caller's login, which the tokens of forms are bound to. */
  token: string | null;
  request: RequestInfo;
  reply: Reply;
  /**
   * Counts a response that waits, like an event stream, as one of the caller's open responses, and ends it when the caller's login
   * ends. `milliseconds`: how long it may take. Returns a signal that aborts when the response must not wait any longer,
   * also because the client has disconnected. Throws `too_many_requests`. Absent where open responses are not counted.
   */
  stayOpen?(milliseconds: number): AbortSignal;
}
