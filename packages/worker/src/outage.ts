import type { Logger } from '@belay/core';

/** Tells of an outage twice, when it starts and when it ends, however often something fails in between. */
export interface Outage {
  down(error: unknown): void;
  up(): void;
  /** Why it is down, or null. Codes only: messages of drivers name hosts and users. */
  reason(): string | null;
}

/** Watches something that comes and goes, for the log and for health checks. `onChange` hears of the start and the end of an outage. */
export function watchOutage(log: Logger, what: string, onChange: () => void = () => {}): Outage {
  let reason: string | null = null;
  return {
    down(error) {
      const first = reason === null;
      reason = codeOf(error);
      if (first) {
        log.warn({ error }, `${what}: not reachable (${reason}); going on without it`);
        onChange();
      } else log.debug({ reason }, `${what}: still not reachable`);
    },
    up() {
      if (reason === null) return;
      reason = null;
      log.info({}, `${what}: reachable again`);
      onChange();
    },
    reason: () => reason,
  };
}

function codeOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/**
 * For the errors of a BullMQ worker. Its refusals (a negative number as the code) tell of a job that was handled twice or
 * is gone already, as happens when an answer was lost on the way; that is harmless, and no outage.
 */
export function workerTrouble(outage: Outage, log: Logger): (error: Error) => void {
  return (error) => {
    if ('code' in error && typeof error.code === 'number')
      log.debug({ error }, 'the queue reported an error about a job');
    else outage.down(error);
  };
}
