/** What every method takes last. */
export interface CallOptions {
  /** Ends the call, which then throws `aborted`. */
  signal?: AbortSignal | undefined;
}

/** What lists take last that may be long: which part of them. Without `limit`, all there are. */
export interface PageOptions extends CallOptions {
  limit?: number | undefined;
  /** `next` of the page before. */
  cursor?: string | undefined;
}

/** What `executions.watch` takes last. */
export interface WatchOptions extends CallOptions {
  /** Yield only what came after this event: the `seq` of the last one seen. */
  lastEventId?: string | undefined;
}

/** What a call that starts something takes beside its input. */
export interface Idempotent {
  /** The same key and input give the same execution for 24 hours, so that the call may be tried again. */
  idempotencyKey?: string | undefined;
}
