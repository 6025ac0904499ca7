import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context, Due, Logger } from '@belay/core';
import type { StandByVerbs } from '../../src/stand-by.js';
import type { SweepVerbs } from '../../src/sweeper.js';
import type { WorkVerbs } from '../../src/work.js';

export interface RecordedLog extends Logger {
  lines: { level: string; message: string; detail: object }[];
  count(level: string, message: RegExp): number;
}

export function recordLog(): RecordedLog {
  const lines: RecordedLog['lines'] = [];
  const at = (level: string) => (detail: object, message: string) => {
    lines.push({ level, message, detail });
  };
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    count: (level, message) => lines.filter((line) => line.level === level && message.test(line.message)).length,
  };
}

/** Returns the part of a context that this package itself uses; the verbs that the tests pass need no other. */
export function testContext(
  log: Logger,
  parts: Partial<Pick<Context, 'clock' | 'delay'>> & { sweep?: number } = {},
): Context {
  const context: Partial<Context> = {
    log,
    timing: { sweep: parts.sweep ?? 3_600_000, callPatience: 100 } as Context['timing'],
    clock: parts.clock ?? (() => new Date()),
    randomBytes: (size) => randomBytes(size),
    delay: parts.delay ?? (async (milliseconds, signal) => void (await wait(milliseconds, undefined, { signal }))),
  };
  return context as Context;
}

/** Returns the result of a sweep that finds nothing. */
export function nothingDue(): Due {
  return { now: new Date(), entitlements: [], steps: [], until: null };
}

export interface RecordedVerbs extends WorkVerbs, SweepVerbs, StandByVerbs {
  /** Keys of the steps that were performed and providers that were looked at, in order. */
  calls: string[];
  sweeps: number;
}

/** Returns verbs that record their calls; `during` runs inside each of them. */
export function recordVerbs(during: (id: string) => Promise<void> | void = () => {}): RecordedVerbs {
  const recorded: RecordedVerbs = {
    calls: [],
    sweeps: 0,
    async performStep(_context, { key }) {
      recorded.calls.push(key);
      await during(key);
    },
    async findDueSteps() {
      return [];
    },
    async claimDue(_context, { provider }) {
      recorded.calls.push(provider);
      await during(provider);
      return [];
    },
    async performClaims() {},
    async findDue() {
      recorded.sweeps += 1;
      return nothingDue();
    },
    async expireLogins() {
      return 0;
    },
    async standByHeld() {
      return { finished: Promise.resolve() };
    },
  };
  return recorded;
}

/** Returns a job for a new step, which no other job has. */
export function stepJob(dueAt?: Date): { queue: 'executions'; executionId: string; key: string; dueAt?: Date } {
  return { queue: 'executions', executionId: randomUUID(), key: `/do/0/${randomUUID()}`, ...(dueAt && { dueAt }) };
}
