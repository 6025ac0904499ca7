/** What the host knows about a request beside its input. */
export interface RequestInfo {
  /** In every log line and in the answer's X-Request-Id. */
  id: string;
  transport: 'rest' | 'trpc';
  method: string;
  /** Path as the client sent it, without the query. */
  path: string;
  /** The whole address as our base URL has it: what an OAuth client compares and reads `code` and `state` from. */
  url: URL;
  accepts: 'json' | 'html';
  /** True when the client named JSON itself, and did not merely accept anything. */
  jsonRequested: boolean;
  secFetchSite?: string;
  /** True when the caller's credential is the login cookie, and not a bearer token. */
  viaCookie: boolean;
  /** Value of the header Idempotency-Key. */
  idempotencyKey?: string;
  /** Every header that came once, by its name in lower case. */
  headers: Readonly<Record<string, string>>;
  /** What a Standard Webhooks sender says beside the body. */
  webhook?: { id: string; timestamp: string; signature: string };
  /** The short-lived cookie that binds a sign-in to the browser that began it. */
  browserSecret?: string;
}

/** A cookie as data; the host knows its name and attributes. `value: null` clears it. */
export type ReplyCookie =
  | { kind: 'login'; value: string; expiresAt: Date }
  | { kind: 'flow'; value: string }
  | { kind: 'login' | 'flow'; value: null };

/** What a procedure says about the answer beside its output; the host applies it. Redirects are data. */
export interface Reply {
  status?: number;
  location?: string;
  headers: Record<string, string>;
  cookies: ReplyCookie[];
}

/** The part of the context that every procedure has. It is made once for each request. */
export interface RestContext {
  /** Who is calling; null when there was no credential, or none that is good. */
  actor: object | null;
  /** The secret of the caller's login, which the tokens of forms are bound to. */
  token: string | null;
  request: RequestInfo;
  reply: Reply;
  /**
   * Counts an answer that takes its time to what the caller has open, as an event stream is, and ends it with their
   * login. `milliseconds`: how long it may take. Returns a signal that aborts when the answer must not wait any longer,
   * also because the client has disconnected. Throws `too_many_requests`. Absent where answers are counted otherwise.
   */
  stayOpen?(milliseconds: number): AbortSignal;
}
