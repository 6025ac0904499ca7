import type * as contract from '@belay/contract/operations';
import { createTRPCUntypedClient, httpLink } from '@trpc/client';
import type { AnyRouter } from '@trpc/server';
import type { CallOptions, Idempotent, WatchOptions } from '../types.js';
import { nextDelay, type Patience, type RetryPolicy } from './retry.js';
import { createSend, type Fetch } from './send.js';
import { startDeadline } from './start-deadline.js';
import { toBelayError } from './to-belay-error.js';
import { watchStream } from './watch-stream.js';

export interface TransportOptions {
  /** The address of the procedures, without a trailing slash. */
  url: string;
  fetch: Fetch;
  headers: Record<string, string>;
  retry: RetryPolicy;
  patience: Patience;
  /** How long a call may take, and a watch until it is connected, in milliseconds. */
  timeout: number;
}

/** Calls procedures by name. Only this part knows the protocol. It throws only BelayError. */
export interface Transport {
  /** Reads something; retried, because that is safe. */
  query<Path extends QueryPath>(path: Path, input: InputOf<Path>, options?: CallOptions): Promise<OutputOf<Path>>;
  /**
   * Changes something. Retried only with an idempotency key, by which the server recognises the repetition, or when it is `repeatable`,
   * because repeating it has no further effect.
   */
  mutate<Path extends MutationPath>(
    path: Path,
    input: InputOf<Path>,
    options?: CallOptions & Idempotent & { repeatable?: boolean },
  ): Promise<OutputOf<Path>>;
  watch<Path extends WatchPath>(
    path: Path,
    input: InputOf<Path>,
    options?: WatchOptions,
  ): AsyncGenerator<OutputOf<Path>, void, undefined>;
}

/** Returns the transport over tRPC: plain requests for calls, server-sent events for watches. */
export function createTransport(options: TransportOptions): Transport {
  const { url, headers, retry, patience, timeout } = options;
  const send = createSend(options.fetch);
  const client = createTRPCUntypedClient<AnyRouter>({
    links: [
      httpLink({
        url,
        headers: ({ op }) => ({ ...headers, ...(op.context as Record<string, string>) }),
        fetch: (target, init) => send(String(target), init as RequestInit),
      }),
    ],
  });

  async function attempt<Output>(
    once: (options: { signal: AbortSignal }) => Promise<unknown>,
    repeatable: boolean,
    signal?: AbortSignal,
  ): Promise<Output> {
    const deadline = startDeadline(patience, timeout, url, signal);
    try {
      for (let failures = 1; ; failures += 1) {
        try {
          return (await once(deadline)) as Output;
        } catch (cause) {
          const error = deadline.passed() ?? toBelayError(cause, deadline.signal);
          const pause = repeatable ? nextDelay(retry, error, failures, patience.random) : undefined;
          if (pause === undefined || deadline.signal.aborted) throw error;
          await patience.delay(pause, deadline.signal).catch((ended: unknown) => {
            throw deadline.passed() === undefined ? ended : error;
          });
        }
      }
    } finally {
      deadline.end();
    }
  }

  return {
    query: (path, input, { signal } = {}) =>
      attempt(({ signal: within }) => client.query(path, input, { signal: within }), true, signal),
    mutate: (path, input, { signal, idempotencyKey, repeatable = idempotencyKey !== undefined } = {}) => {
      const context = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
      return attempt(
        ({ signal: within }) => client.mutation(path, input, { signal: within, context }),
        repeatable,
        signal,
      );
    },
    watch: <Path extends WatchPath>(path: Path, input: InputOf<Path>, watchOptions: WatchOptions = {}) =>
      watchStream<OutputOf<Path>>({ url, path, input, headers, send, retry, patience, timeout, ...watchOptions }),
  };
}

/** Every operation that the SDK can call. */
type Operations = contract.Operations & contract.LocalOperations;

type PathOf<Kind> = {
  [Path in keyof Operations]: Operations[Path] extends { kind: Kind } ? Path : never;
}[keyof Operations];

type QueryPath = PathOf<'query'>;
type MutationPath = PathOf<'mutation'>;
type WatchPath = PathOf<'subscription'>;
type InputOf<Path extends keyof Operations> = contract.InputOf<Operations[Path]>;
type OutputOf<Path extends keyof Operations> = contract.OutputOf<Operations[Path]>;
