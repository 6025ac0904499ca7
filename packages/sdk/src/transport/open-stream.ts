import { createTRPCUntypedClient, httpSubscriptionLink } from '@trpc/client';
import type { AnyRouter } from '@trpc/server';
import { EventSource } from 'eventsource';
import { BelayError } from '../errors.js';
import type { Patience } from './retry.js';
import type { Fetch } from './send.js';
import { startDeadline } from './start-deadline.js';
import { toBelayError } from './to-belay-error.js';

/** One event of a stream, with the id after which the stream can be resumed. */
export interface Frame {
  id?: string;
  data: unknown;
}

export interface StreamRequest {
  url: string;
  path: string;
  input: unknown;
  headers: Record<string, string>;
  /** Made by `createSend`, so that a rejected stream fails like a rejected call. */
  send: Fetch;
  /** How long connecting may take, in milliseconds. After that, missing pings of the server reveal a broken connection. */
  timeout: number;
  patience: Pick<Patience, 'delay'>;
  signal?: AbortSignal | undefined;
}

function toFrame(data: unknown): Frame {
  if (typeof data === 'object' && data !== null && 'id' in data && 'data' in data && typeof data.id === 'string') {
    return { id: data.id, data: data.data };
  }
  return { data };
}

/**
 * Opens one connection to a subscription: yields its events, returns when the server has sent the last one, and throws BelayError as soon
 * as the connection is rejected or breaks. It never reconnects: EventSource would retry forever and hide the cause, so the caller decides
 * (see `watch-stream.ts`).
 */
export async function* openStream(request: StreamRequest): AsyncGenerator<Frame, void, undefined> {
  const { signal, headers, send } = request;
  const frames: Frame[] = [];
  let refusal: BelayError | undefined;
  let ending: { error?: BelayError } | undefined;
  let wake = () => {};
  const end = (error?: BelayError) => {
    ending ??= error ? { error } : {};
    wake();
  };
  const connecting = startDeadline(request.patience, request.timeout, request.url);
  connecting.signal.addEventListener('abort', () => end(connecting.passed()), { once: true });
  const onAbort = () => end(new BelayError('aborted', 'the watch was aborted', { status: 0, cause: signal?.reason }));
  const client = createTRPCUntypedClient<AnyRouter>({
    links: [
      httpSubscriptionLink({
        url: request.url,
        EventSource,
        eventSourceOptions: {
          fetch: (url, init) =>
            send(url, { ...init, headers: { ...headers, ...init.headers } }).catch((error: unknown) => {
              refusal = toBelayError(error, signal);
              throw error;
            }),
        },
      }),
    ],
  });
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  const subscription = client.subscription(request.path, request.input, {
    onStarted: () => connecting.end(),
    onData: (data) => {
      frames.push(toFrame(data));
      wake();
    },
    onComplete: () => end(),
    onError: (error) => end(refusal ?? toBelayError(error, signal)),
    onConnectionStateChange: ({ state, error }) => {
      if (state === 'connecting' && error) end(refusal ?? toBelayError(error, signal));
    },
  });
  try {
    while (frames.length > 0 || !ending) {
      yield* frames.splice(0);
      if (frames.length === 0 && !ending) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    connecting.end();
    signal?.removeEventListener('abort', onAbort);
    subscription.unsubscribe();
  }
  if (ending.error) throw ending.error;
}
