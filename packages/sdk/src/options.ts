/** The last argument of every method. */
export interface CallOptions {
  /** Ends the call, which then throws `aborted`. */
  signal?: AbortSignal | undefined;
}

/** The last argument of methods with long lists: which part of the list to return. Without `limit`, all items. */
export interface PageOptions extends CallOptions {
  limit?: number | undefined;
  /** The `next` of the previous page. */
  cursor?: string | undefined;
}

/** The last argument of `executions.watch`. */
export interface WatchOptions extends CallOptions {
  /** Yields only events after this one: the `seq` of the last event that was seen. */
  lastEventId?: string | undefined;
}

/** A field for calls that start something, in addition to their input. */
export interface Idempotent {
  /** For 24 hours, the same key and input return the same execution, so that the call can be retried. */
  idempotencyKey?: string | undefined;
}
