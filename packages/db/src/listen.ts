import { createClient } from './connect.js';

export interface ListenOptions {
  url: string;
  /** The name of the channel: lower-case letters and underscores. */
  channel: string;
  heard(payload: string): void;
  /** Called when listening has started. Notifications from before, or from between two connections, are missed. */
  connected(): void;
  /** Called when the connection could not be made, or ended. */
  lost(error: unknown): void;
  /** Waits before the next attempt, and before the next check of the connection; rejects when the signal aborts. */
  pause(signal: AbortSignal): Promise<void>;
}

/** How long the connection may take to respond to a check, in milliseconds. */
const silence = 5_000;

/**
 * Listens to a channel of the database on its own connection, and reconnects when that is lost, until `close`. The
 * client's own `listen` tries only once, which is not enough while a database restarts.
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
async function listenOnce(options: ListenOptions, signal: AbortSignal): Promise<void> {
  const { url, channel, heard, connected, lost } = options;
  const over = new AbortController();
  const end = () => over.abort();
  // `onnotify` is an option of the client that is missing in its types.
  const settings = {
    max: 1,
    silence,
    idle_timeout: 0,
    max_lifetime: null,
    onclose: () => end(),
    onnotify: (_channel: string, payload: string) => heard(payload),
    connection: { application_name: 'belay listener' },
  };
  const client = createClient(url, settings);
  signal.addEventListener('abort', end, { once: true });
  try {
    await client.unsafe(`listen ${channel}`);
    connected();
    // A channel can be silent for hours, so a lost connection shows only when it is checked.
    while (!over.signal.aborted) {
      await options.pause(over.signal).catch(() => undefined);
      if (!over.signal.aborted) await client`select 1`;
    }
    if (!signal.aborted) lost(new Error('The connection that listens for notifications was closed'));
  } finally {
    signal.removeEventListener('abort', end);
    await client.end({ timeout: 0 });
  }
}
