import type { LocalLane, Process } from './backend.js';
import type { QueueName } from './queues.js';

/**
 * The short way from this process's waker to this process's worker. It may exist because a hint is only a hint: one
 * that a crash swallows is one that the sweeper finds. Hints beyond `places` go through the queue, to whoever is free.
 */
export function localLane(processors: Record<QueueName, Process>, places: Record<QueueName, number>): LocalLane {
  const busy: Record<QueueName, number> = { executions: 0, entitlements: 0 };
  return (queue, payload) => {
    if (busy[queue] >= places[queue]) return false;
    busy[queue] += 1;
    // Not in the caller's own turn: `wake` returns before any work starts.
    setImmediate(() => {
      void processors[queue](payload).finally(() => {
        busy[queue] -= 1;
      });
    });
    return true;
  };
}
