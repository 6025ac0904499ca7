import { MemoryStore, type Store } from 'express-rate-limit';
import { type RedisReply, RedisStore } from 'rate-limit-redis';

/** Sends a command to Redis. Rejects when Redis is unavailable. */
export type SendCommand = (command: readonly string[]) => Promise<unknown>;

/** How long a request waits for Redis, and how long Redis is skipped after a failure, in milliseconds. */
const patience = 250;
const rest = 1_000;

/**
 * Returns a store that counts requests in Redis, for all processes together. While Redis does not respond in time, each process
 * uses its own count, so that an outage of Redis neither stops the service nor removes the rate limit.
 */
export function countTogether(options: {
  send: SendCommand;
  prefix: string;
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
}): Store {
  const { delay } = options;
  const own = new MemoryStore();
  let configured: Parameters<NonNullable<Store['init']>>[0] | undefined;
  let shared: RedisStore | undefined;
  let away = false;

  /**
   * Opens the store at the first request and after each failure: a `RedisStore` loads a script when it is created, and
   * never retries.
   */
  async function open(): Promise<RedisStore> {
    const sendCommand = (...command: string[]) => options.send(command) as Promise<RedisReply>;
    const opened = new RedisStore({ sendCommand, prefix: options.prefix });
    if (configured !== undefined) await opened.init(configured);
    shared = opened;
    return opened;
  }
  function leaveAlone(): void {
    away = true;
    shared = undefined;
    void delay(rest, new AbortController().signal).then(() => {
      away = false;
    });
  }

  return {
    prefix: options.prefix,
    init(given) {
      configured = given;
      own.init(given);
    },
    async increment(key) {
      const counted = await own.increment(key);
      if (away) return counted;
      const done = new AbortController();
      const late = delay(patience, done.signal).then(() => undefined);
      const together = (async () => (shared ?? (await open())).increment(key))();
      const found = await Promise.race([together, late]).catch(() => undefined);
      done.abort();
      late.catch(() => undefined);
      if (found !== undefined) return found;
      together.catch(() => undefined);
      leaveAlone();
      return counted;
    },
    decrement: (key) => own.decrement(key),
    resetKey: (key) => own.resetKey(key),
    shutdown: () => own.shutdown(),
  };
}
