import { isOutage } from '@belay/contract/outage';
import { type Context, type Logger, noteOutage } from '@belay/core';

/**
 * Logs that work failed; the sweeper repeats it. Failures because the database or the pool for expressions is unavailable are
 * logged once for the whole outage, regardless of the number of failed steps.
 */
export function logFailure(
  context: Pick<Context, 'log' | 'clock'>,
  error: unknown,
  message: string,
  detail: object = {},
  level: 'warn' | 'error' = 'error',
): void {
  if (isOutage(error)) noteOutage(context, error);
  else context.log[level]({ error, ...detail }, message);
}

/** The shortest time between two warnings about one service, in milliseconds: an unstable service can fail many times a second. */
const quietFor = 30_000;

/** Logs an outage at most twice, when it starts and when it ends, regardless of the number of failures in between. */
export interface Outage {
  down(error: unknown): void;
  up(): void;
  /** Returns why the service is down, or null. Has codes only, because messages of drivers name hosts and users. */
  reason(): string | null;
}

/**
 * Tracks the outages of a service, for the log and for health checks. `onChange` is called at the start and the end of an
 * outage. `now` is in milliseconds.
 */
export function watchOutage(
  log: Logger,
  what: string,
  onChange: () => void = () => {},
  now: () => number = () => performance.now(),
): Outage {
  let reason: string | null = null;
  let warnedAt = Number.NEGATIVE_INFINITY;
  let warned = false;
  return {
    down(error) {
      const first = reason === null;
      reason = codeOf(error);
      if (!warned && now() - warnedAt >= quietFor) {
        warned = true;
        warnedAt = now();
        log.warn({ error }, `${what}: not reachable (${reason}); continuing without it`);
      } else log.debug({ reason }, `${what}: still not reachable`);
      if (first) onChange();
    },
    up() {
      if (reason === null) return;
      reason = null;
      if (warned) log.info({}, `${what}: reachable again`);
      warned = false;
      onChange();
    },
    reason: () => reason,
  };
}

/** SQLSTATEs of a statement that waited too long for locks: its own limit of the wait, and its limit of time. */
const heldStates = new Set(['55P03', '57014']);
/** How long a statement that failed because of locks counts as held when it is not sent again, in milliseconds. */
const heldFor = 10_000;

/** The outage of a database of which single statements can also fail, because other sessions hold their locks. */
export interface HeldOutage extends Outage {
  down(error: unknown, statement?: string): void;
  up(statement?: string): void;
  /** Returns whether the outage is one of locks. */
  isHeld(): boolean;
}

/**
 * Returns an outage that goes on while statements fail because of locks, although others succeed: no job arrives then, and only
 * the sweep finds the work. It ends when the same statement succeeds, or was not sent for ten seconds. `now` is in milliseconds.
 */
export function whileHeld(outage: Outage, now: () => number = () => performance.now()): HeldOutage {
  const held = new Map<string, number>();
  return {
    reason: outage.reason,
    isHeld: () => held.size > 0,
    down(error, statement) {
      if (statement !== undefined && heldStates.has(codeOf(error))) held.set(statement, now());
      outage.down(error);
    },
    up(statement) {
      if (statement !== undefined) held.delete(statement);
      for (const [one, since] of held) if (now() - since > heldFor) held.delete(one);
      if (held.size === 0) outage.up();
    },
  };
}

function codeOf(error: unknown): string {
  // Redis begins its errors with their code, such as READONLY or OOM.
  if (error instanceof Error && error.name === 'ReplyError') return /^[A-Z]+/.exec(error.message)?.[0] ?? error.name;
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/**
 * Returns the handler for errors of a BullMQ worker. Errors of BullMQ itself (a negative number as the code) are about
 * a job that was handled twice or no longer exists, as happens when a response was lost; these are harmless and not an
 * outage.
 */
export function workerTrouble(down: Outage['down'], log: Logger): (error: Error) => void {
  return (error) => {
    if ('code' in error && typeof error.code === 'number')
      log.debug({ error }, 'the queue reported an error about a job');
    else down(error);
  };
}
