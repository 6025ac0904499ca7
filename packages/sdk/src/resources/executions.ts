import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type {
  CallOptions,
  Done,
  ExecutionDetails,
  ExecutionEvent,
  ExecutionList,
  ExecutionStart,
  Idempotent,
  PageOptions,
  SealedSignal,
  Signalled,
  StartedExecution,
  WaitTarget,
  WatchOptions,
} from '../types.js';

/** The requests in progress, and what became of them. */
export interface ExecutionsResource {
  /** The caller's running ones, newest first, 500 at most; `next` goes on. */
  list(options?: PageOptions): Promise<ExecutionList>;
  /** With the newest 1,000 entries of its history; `next` as the `cursor` gives the ones before. */
  get(id: string, options?: PageOptions): Promise<ExecutionDetails>;
  /**
   * Resolves with the execution when it has reached `until`, or after 20 seconds. `state` says which; call again to
   * continue waiting.
   */
  wait(id: string, until: WaitTarget, options?: CallOptions): Promise<ExecutionDetails>;
  /** Starts a workflow by name. Tried again after a failure only with an `idempotencyKey`. */
  start(start: ExecutionStart & Idempotent, options?: CallOptions): Promise<StartedExecution>;
  /** Ends it, letting the workflow clean up. What it had granted ends at once. */
  cancel(id: string, options?: CallOptions): Promise<Done>;
  /** Ends it without running anything more. What it had granted ends at once. */
  terminate(id: string, options?: CallOptions): Promise<Done>;
  /** Seals a CloudEvent for the caller to send to an execution that they may see. */
  prepareSignal(event: { id: string; type: string; data?: unknown }, options?: CallOptions): Promise<SealedSignal>;
  /** Delivers a sealed signal, as the service made it for the caller. */
  signal(signal: { id: string; input: string }, options?: CallOptions): Promise<Signalled>;
  /**
   * Everything that happens to it, from the beginning or after `lastEventId`, until it has ended and nothing that it
   * granted is held any more. Broken connections are resumed without a gap. Throws `aborted` when the signal is.
   */
  watch(id: string, options?: WatchOptions): AsyncGenerator<ExecutionEvent, void, undefined>;
}

export function createExecutions(transport: Transport): ExecutionsResource {
  return {
    list: ({ limit, cursor, ...options } = {}) =>
      transport.query('executions.list', pageOf({ limit, cursor }), options),
    get: (id, { limit, cursor, ...options } = {}) =>
      transport.query('executions.get', { id, ...pageOf({ limit, cursor }) }, options),
    wait: (id, until, options) => transport.query('executions.get', { id, until, wait: 'PT20S' }, options),
    start: ({ idempotencyKey, ...start }, options) =>
      transport.mutate('executions.start', start, { ...options, idempotencyKey }),
    cancel: (id, options) => transport.mutate('executions.cancel', { id }, options),
    terminate: (id, options) => transport.mutate('executions.terminate', { id }, options),
    prepareSignal: (event, options) => transport.mutate('executions.prepareSignal', event, options),
    signal: (signal, options) => transport.mutate('executions.signal', signal, options),
    watch: (id, options) => transport.watch('executions.watch', { id }, options),
  };
}
