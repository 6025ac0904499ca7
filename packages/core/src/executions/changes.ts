import { listenTo } from '@belay/db';
import type { Changes, Logger, Store } from '../context.js';
import { ledgerChannel } from '../ledger/append.js';

export interface OpenChanges {
  databaseUrl: string;
  log: Logger;
  delay: Store['delay'];
}

/** How long to wait before the next attempt to listen, in milliseconds. */
const pause = 1_000;

/** Listens to the database's notifications of changes, on one connection for the whole process, until `close`. */
export function openChanges({ databaseUrl, log, delay }: OpenChanges): Changes & { close(): Promise<void> } {
  const subscribers = new Map<string, Set<() => void>>();
  let healthy = true;
  const listening = listenTo({
    url: databaseUrl,
    channel: ledgerChannel,
    heard(executionId) {
      for (const wake of subscribers.get(executionId) ?? []) wake();
    },
    connected() {
      if (!healthy) log.info({}, 'notifications of the database are received again');
      healthy = true;
      // Notifications that were sent while nothing listened are lost.
      for (const wakes of subscribers.values()) for (const wake of wakes) wake();
    },
    lost(error) {
      if (healthy)
        log.warn({ error }, 'notifications of the database are not received; executions are polled, with a delay');
      healthy = false;
    },
    pause: (signal) => delay(pause, signal),
  });
  return {
    subscribe(executionId, wake) {
      const wakes = subscribers.get(executionId) ?? new Set();
      subscribers.set(executionId, wakes.add(wake));
      return () => {
        wakes.delete(wake);
        if (wakes.size === 0) subscribers.delete(executionId);
      };
    },
    close: () => listening.close(),
  };
}
