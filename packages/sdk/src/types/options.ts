/** What every method takes last. */
export interface CallOptions {
  /** Ends the call, which then throws `aborted`. */
  signal?: AbortSignal | undefined;
}

/** What `executions.watch` takes last. */
export interface WatchOptions extends CallOptions {
  /** Yield only what came after this event: the `seq` of the last one seen. */
  lastEventId?: string | undefined;
}
