import { describe, expect, it, vi } from 'vitest';
import type { QueueBackend } from '../src/backend.js';
import { countDeadLetters } from '../src/dead-letters.js';
import { type Payload, payloads } from '../src/queues.js';
import { createWaker } from '../src/waker.js';
import { recordLog, stepJob } from './support/context.js';

const now = () => Date.UTC(2026, 0, 1);

/** Returns a backend that records the jobs that are sent, in a list for each call. */
function memoryBackend(add: (jobs: readonly Payload[]) => Promise<void> = async () => {}) {
  const sent: { queue: string; jobs: readonly Payload[] }[] = [];
  const backend: QueueBackend = {
    kind: 'redis',
    deadLetters: countDeadLetters(recordLog()),
    local: null,
    isAway: () => false,
    check: async () => 'healthy',
    close: async () => {},
    openQueue: (queue) => ({
      add(jobs) {
        sent.push({ queue, jobs });
        return add(jobs);
      },
      close: async () => {},
    }),
    openWorker: () => ({ pause: async () => {}, close: async () => {} }),
  };
  return { backend, sent };
}

describe('the waker', () => {
  it('sends the jobs of one tick together, once per queue', async () => {
    const { backend, sent } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now });
    const [first, second, third] = [stepJob(), stepJob(), stepJob()];
    waker.wake([first]);
    waker.wake([second, { queue: 'entitlements', entitlementId: third.executionId, provider: 'memory' }]);
    expect(sent).toEqual([]);
    await vi.waitFor(() => expect(sent).toHaveLength(2), 30_000);
    expect(sent.find(({ queue }) => queue === 'executions')?.jobs).toEqual(
      [first, second].map(({ executionId, key }) => ({ executionId, key })),
    );
    expect(sent.find(({ queue }) => queue === 'entitlements')?.jobs).toEqual([
      { entitlementId: third.executionId, provider: 'memory' },
    ]);
    await waker.close();
  });

  it('sends immediately what is due soon, with its time, and drops what every sweep will find', async () => {
    const { backend, sent } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now, lookAhead: 10_000 });
    const soon = stepJob(new Date(now() + 9_000));
    const overdue = stepJob(new Date(now() - 60_000));
    waker.wake([stepJob(new Date(now() + 11_000)), soon, overdue]);
    await vi.waitFor(() => expect(sent).toHaveLength(1), 30_000);
    expect(sent[0]?.jobs).toEqual(
      [soon, overdue].map(({ executionId, key, dueAt }) => ({ executionId, key, due: dueAt?.getTime() })),
    );
    await waker.close();
  });

  it('sends nothing but ids that the worker can read', async () => {
    const { backend, sent } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now });
    waker.wake([{ ...stepJob(), reason: 'INC-1 secret' } as never]);
    await vi.waitFor(() => expect(sent).toHaveLength(1), 30_000);
    for (const job of sent[0]?.jobs ?? []) expect(payloads.executions.safeParse(job).success).toBe(true);
    await waker.close();
  });

  it('drops what could not be sent, without an error and without a log line above debug', async () => {
    const log = recordLog();
    const { backend, sent } = memoryBackend(() => Promise.reject(new Error('away')));
    const waker = createWaker(backend, log, { now });
    waker.wake([stepJob()]);
    await vi.waitFor(() => expect(log.count('debug', /dropped/)).toBe(1), 30_000);
    waker.wake([stepJob()]);
    await vi.waitFor(() => expect(log.count('debug', /dropped/)).toBe(2), 30_000);
    expect(sent.map(({ jobs }) => jobs.length)).toEqual([1, 1]);
    expect(log.lines.every((line) => line.level === 'debug')).toBe(true);
    await waker.close();
    expect(() => waker.wake([stepJob()])).not.toThrow();
  });

  it('sends one list at a time, and keeps a bounded number meanwhile', async () => {
    const held: (() => void)[] = [];
    const { backend, sent } = memoryBackend(() => new Promise((resolve) => held.push(resolve)));
    const waker = createWaker(backend, recordLog(), { now });
    waker.wake([stepJob()]);
    await vi.waitFor(() => expect(sent).toHaveLength(1), 30_000);
    waker.wake(Array.from({ length: 11_000 }, () => stepJob()));
    waker.wake([stepJob()]);
    expect(sent).toHaveLength(1);
    const closing = waker.close();
    await vi.waitFor(
      () => {
        for (const release of held.splice(0)) release();
        expect(sent.flatMap(({ jobs }) => jobs)).toHaveLength(10_001);
      },
      { interval: 1, timeout: 30_000 },
    );
    for (const release of held) release();
    await closing;
    expect(Math.max(...sent.map(({ jobs }) => jobs.length))).toBeLessThanOrEqual(500);
  });

  it('leaves to a worker of this process what is due now or soon, and to the queue what has no place', async () => {
    const { backend, sent } = memoryBackend();
    const taken: unknown[] = [];
    const planned: unknown[] = [];
    backend.local = {
      reserve: () => null,
      isWanted: () => false,
      hand: () => {},
      take: (job) => taken.length === 0 && taken.push(job) === 1,
      follow: (job, dueAt) => planned.push({ ...job, dueAt }),
      sweepSoon: () => {},
    };
    const waker = createWaker(backend, recordLog(), { now, lookAhead: 10_000 });
    const [later, soon, first, second] = [
      stepJob(new Date(now() + 11_000)),
      stepJob(new Date(now() + 1_000)),
      stepJob(),
      stepJob(),
    ];
    waker.wake([later, soon, first, second]);
    expect(taken).toEqual([first]);
    expect(planned).toEqual([soon]);
    await vi.waitFor(() => expect(sent.flatMap(({ jobs }) => jobs)).toHaveLength(1), 30_000);
    expect(sent[0]?.jobs).toEqual([{ executionId: second.executionId, key: second.key }]);
    await waker.close();
  });

  it('reserves nothing and starts moved work immediately where no worker runs', async () => {
    const { backend } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now });
    expect(waker.reserve({ queue: 'executions' })).toBeNull();
    const begun = await new Promise((resolve) => {
      waker.hand({ queue: 'calls', systems: ['memory'] }, async (inTime) => resolve(inTime));
    });
    expect(begun).toBe(true);
    await waker.close();
  });
});
