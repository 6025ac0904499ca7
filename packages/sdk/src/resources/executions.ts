import { hasReached } from '@belay/contract/wait-target';
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
  Idempotent,
  PageOptions,
  SealedSignal,
  Signalled,
  StartedExecution,
  WaitTarget,
  WatchOptions,
} from '../types.js';

/** A list that is read page by page: awaiting it returns the first page, and a loop yields every item. */
export interface ExecutionPages extends Promise<ExecutionList>, AsyncIterable<Execution> {}

/** The terms of an extension that may differ from the extended request. */
export interface Extension {
  duration?: string | undefined;
  reason?: string | undefined;
}

/** The open and ended requests. */
export interface ExecutionsResource {
  /**
   * Returns the caller's open requests, or those that a filter selects, newest first; with `decided_by`, the latest
   * decision first. Awaiting it returns the first page, with at most 500 requests; `for await` reads all pages.
   */
  list(options?: ExecutionFilter & PageOptions): ExecutionPages;
  /** Returns the request with the newest 1,000 entries of its history; pass `next` as the `cursor` for the earlier ones. */
  get(id: string, options?: PageOptions): Promise<ExecutionDetails>;
  /**
   * Resolves to the execution when it has reached `until`, or after 20 seconds. `hasReached` tells which; call again to continue
   * waiting.
   */
  wait(id: string, until: WaitTarget, options?: CallOptions): Promise<ExecutionDetails>;
  /**
   * Resolves to the execution when its access is active. Throws `conflict` with the state when it ends without active access, and `aborted`
   * when the signal aborts.
   */
  waitUntilActive(id: string, options?: CallOptions): Promise<ExecutionDetails>;
  /**
   * Requests the active access of the caller's execution for longer, on the same terms; `duration` counts from the moment when the
   * extension is active. Retried after a failure only with an `idempotencyKey`.
   */
  extend(id: string, extension?: Extension & Idempotent, options?: CallOptions): Promise<Elevation>;
  /** Starts a workflow by name. Retried after a failure only with an `idempotencyKey`. */
  start(start: ExecutionStart & Idempotent, options?: CallOptions): Promise<StartedExecution>;
  /** Cancels the execution; its workflow can clean up. Its access ends at once. */
  cancel(id: string, options?: CallOptions): Promise<Done>;
  /** Ends the execution without running anything more. Its access ends at once. */
  terminate(id: string, options?: CallOptions): Promise<Done>;
  /** Seals a CloudEvent that the caller can send to an execution that they may see. */
  prepareSignal(event: { id: string; type: string; data?: unknown }, options?: CallOptions): Promise<SealedSignal>;
  /** Delivers a sealed signal of `prepareSignal`. */
  signal(signal: { id: string; input: string }, options?: CallOptions): Promise<Signalled>;
  /**
   * Yields every event of the execution, from the beginning or after `lastEventId`, until it has ended and no access is left. Resumes
   * broken connections without a gap. Throws `aborted` when the signal aborts.
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

/** Reads the first page only when it is needed, and only once. */
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

async function waitUntilActive(transport: Transport, id: string, options?: CallOptions): Promise<ExecutionDetails> {
  for (;;) {
    const found = await transport.query('executions.get', { id, until: 'active', wait: 'PT20S' }, options);
    if (found.state === 'active') return found;
    if (hasReached('active', found)) {
      throw new BelayError('conflict', `The request ended without active access: it is ${found.state}`, {
        status: 409,
      });
    }
  }
}
