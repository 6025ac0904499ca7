import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context, Logger } from '@belay/core';
import type { HintVerbs } from '../../src/processors.js';
import type { StandByVerbs } from '../../src/stand-by.js';
import type { SweepVerbs } from '../../src/sweeper.js';

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

/** The part of a context that this package itself uses; the verbs that the tests pass need no other. */
export function testContext(log: Logger, parts: { delay?: Context['delay']; sweep?: number } = {}): Context {
  const context: Partial<Context> = {
    log,
    timing: { sweep: parts.sweep ?? 3_600_000 } as Context['timing'],
    randomBytes: (size) => randomBytes(size),
    delay: parts.delay ?? (async (milliseconds, signal) => void (await wait(milliseconds, undefined, { signal }))),
  };
  return context as Context;
}

export interface RecordedVerbs extends HintVerbs, SweepVerbs, StandByVerbs {
  /** Keys of the steps and ids of the entitlements that were asked for, in order. */
  calls: string[];
  sweeps: number;
}

/** Verbs that remember what they were called with; `during` runs inside each of them. */
export function recordVerbs(during: (id: string) => Promise<void> | void = () => {}): RecordedVerbs {
  const recorded: RecordedVerbs = {
    calls: [],
    sweeps: 0,
    async performStep(_context, { key }) {
      recorded.calls.push(key);
      await during(key);
    },
    async reconcileEntitlement(_context, { entitlementId }) {
      recorded.calls.push(entitlementId);
      await during(entitlementId);
    },
    async sweep() {
      recorded.sweeps += 1;
      return { steps: 0, entitlements: 0 };
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

/** A hint to a step nobody else in this run has. */
export function stepHint(dueAt?: Date): { queue: 'executions'; executionId: string; key: string; dueAt?: Date } {
  return { queue: 'executions', executionId: randomUUID(), key: `/do/0/${randomUUID()}`, ...(dueAt && { dueAt }) };
}
