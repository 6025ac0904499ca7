import type { Actor, Context } from '@belay/core';

/** What the host knows about the request beside its input. */
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
  /** True when the caller was recognised by the login cookie, and not by a bearer token. */
  viaCookie: boolean;
  /** Value of the header Idempotency-Key (design §14.16). */
  idempotencyKey?: string;
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

/** What only the running process can say about itself. */
export interface Host {
  /** Prefix of every path of the interface, `/api/v1` in server mode. */
  basePath: string;
  /** Requests answered since the start. */
  requests(): number;
  uptimeMilliseconds(): number;
  /** State of the queue backend, in a word (`healthy`, `unhealthy`, `off`). */
  scheduler(): Promise<string>;
  /** Whether the queue has answered since the start; asks it as long as it has not. */
  queueSeen(): Promise<boolean>;
  /** True from the moment the process was asked to stop. */
  draining(): boolean;
}

/** The context of every procedure: made by the host once per request. */
export interface RequestContext {
  core: Context;
  /** Who is calling, when the credential was good; null when there was none or it was not. */
  actor: Actor | null;
  token: string | null;
  reply: Reply;
  request: RequestInfo;
  host: Host;
  /**
   * Counts an answer that takes its time to what the caller has open, as an event stream is, and ends it with their login.
   * Throws `too_many_requests`. Absent where answers are counted otherwise.
   */
  stayOpen?(): void;
}
