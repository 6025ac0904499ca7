import postgres from 'postgres';

export interface ListenOptions {
  url: string;
  /** The channel's name: lower-case letters and underscores. */
  channel: string;
  heard(payload: string): void;
  /** The channel is listened to from now on; what was sent before, or between two connections, was not heard. */
  connected(): void;
  /** The connection could not be made, or ended. */
  lost(error: unknown): void;
  /** Waits before the next attempt; rejects when the signal aborts. */
  pause(signal: AbortSignal): Promise<void>;
}

/**
 * Listens to a channel of the database on a connection of its own, and connects again whenever that is lost, until `close`.
 * The client's own `listen` tries only once, which is not enough while a database restarts.
 */
export function listenTo(options: ListenOptions): { close(): Promise<void> } {
  const closing = new AbortController();
  const run = async () => {
    while (!closing.signal.aborted) {
      try {
        await listenOnce(options, closing.signal);
      } catch (error) {
        if (!closing.signal.aborted) options.lost(error);
      }
      await options.pause(closing.signal).catch(() => undefined);
    }
  };
  const running = run();
  return {
    async close() {
      closing.abort();
      await running;
    },
  };
}

/** Returns when the connection has ended or the signal aborts. */
async function listenOnce({ url, channel, heard, connected, lost }: ListenOptions, signal: AbortSignal): Promise<void> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  // `onnotify` is an option of the client that its types leave out.
  const settings = {
    max: 1,
    connect_timeout: 10,
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
    onnotice: () => {},
    onclose: () => end(),
    onnotify: (_channel: string, payload: string) => heard(payload),
    connection: { application_name: 'belay listener' },
  };
  const client = postgres(url, settings);
  signal.addEventListener('abort', end, { once: true });
  try {
    await client.unsafe(`listen ${channel}`);
    connected();
    await ended;
    if (!signal.aborted) lost(new Error('The connection that listens was closed'));
  } finally {
    signal.removeEventListener('abort', end);
    await client.end({ timeout: 0 });
  }
}
