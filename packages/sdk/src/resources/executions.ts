import { BelayError } from '../errors.js';
import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type {
  CallOptions,
  Done,
  Elevation,
  Execution,
  ExecutionDetails,
  ExecutionEvent,
  ExecutionFilter,
  ExecutionList,
  ExecutionStart,
  ExecutionState,
  Idempotent,
  PageOptions,
  SealedSignal,
  Signalled,
  StartedExecution,
  WaitTarget,
  WatchOptions,
} from '../types.js';

/** A list that is read page by page: its first page when awaited, and every item of it in a loop. */
export interface ExecutionPages extends Promise<ExecutionList>, AsyncIterable<Execution> {}

/** What may differ from the request that is extended. */
export interface Extension {
  duration?: string | undefined;
  reason?: string | undefined;
}

/** The requests in progress, and what became of them. */
export interface ExecutionsResource {
  /**
   * The caller's running ones, or the requests that a filter selects, newest first. Awaited it is the first page, 500 at
   * most; `for await` goes through all of them, page by page.
   */
  list(options?: ExecutionFilter & PageOptions): ExecutionPages;
  /** With the newest 1,000 entries of its history; `next` as the `cursor` gives the ones before. */
  get(id: string, options?: PageOptions): Promise<ExecutionDetails>;
  /**
   * Resolves with the execution when it has reached `until`, or after 20 seconds. `state` says which; call again to
   * continue waiting.
   */
  wait(id: string, until: WaitTarget, options?: CallOptions): Promise<ExecutionDetails>;
  /**
   * Resolves with the execution when its access is active. Throws `conflict` with the state when it ends without, and
   * `aborted` when the signal is.
   */
  waitUntilActive(id: string, options?: CallOptions): Promise<ExecutionDetails>;
  /**
   * Requests the active access of the caller's execution for longer, on the same terms; `duration` counts from the moment
   * when the extension is active. Tried again after a failure only with an `idempotencyKey`.
   */
  extend(id: string, extension?: Extension & Idempotent, options?: CallOptions): Promise<Elevation>;
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
    list: (options = {}) => createPages(transport, options),
    get: (id, { limit, cursor, ...options } = {}) =>
      transport.query('executions.get', { id, ...pageOf({ limit, cursor }) }, options),
    wait: (id, until, options) => transport.query('executions.get', { id, until, wait: 'PT20S' }, options),
    waitUntilActive: (id, options) => waitUntilActive(transport, id, options),
    extend: (id, { idempotencyKey, ...extension } = {}, options) =>
      transport.mutate('executions.extend', { id, ...extension }, { ...options, idempotencyKey }),
    start: ({ idempotencyKey, ...start }, options) =>
      transport.mutate('executions.start', start, { ...options, idempotencyKey }),
    cancel: (id, options) => transport.mutate('executions.cancel', { id }, options),
    terminate: (id, options) => transport.mutate('executions.terminate', { id }, options),
    prepareSignal: (event, options) => transport.mutate('executions.prepareSignal', event, options),
    signal: (signal, options) => transport.mutate('executions.signal', signal, options),
    watch: (id, options) => transport.watch('executions.watch', { id }, options),
  };
}

/** Reads the first page only when it is awaited, so that a loop reads each page once. */
function createPages(
  transport: Transport,
  { limit, cursor, signal, ...filter }: ExecutionFilter & PageOptions,
): ExecutionPages {
  const read = (at: string | undefined) =>
    transport.query('executions.list', { ...filter, ...pageOf({ limit, cursor: at }) }, { signal });
  let first: Promise<ExecutionList> | undefined;
  const page = () => {
    first ??= read(cursor);
    return first;
  };
  return {
    then: (resolve, reject) => page().then(resolve, reject),
    catch: (reject) => page().catch(reject),
    finally: (settled) => page().finally(settled),
    [Symbol.toStringTag]: 'ExecutionPages',
    async *[Symbol.asyncIterator]() {
      for (let list = await page(); ; list = await read(list.next)) {
        yield* list.executions;
        if (list.next === null) return;
      }
    },
  };
}

/** The states from which access can still become active. */
const before: readonly ExecutionState[] = ['running', 'waiting_for_approval', 'granting'];

async function waitUntilActive(transport: Transport, id: string, options?: CallOptions): Promise<ExecutionDetails> {
  for (;;) {
    const found = await transport.query('executions.get', { id, until: 'active', wait: 'PT20S' }, options);
    if (found.state === 'active') return found;
    if (!before.includes(found.state)) {
      throw new BelayError('conflict', `The request ended without active access: it is ${found.state}`, {
        status: 409,
      });
    }
  }
}
