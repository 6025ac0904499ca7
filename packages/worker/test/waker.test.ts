import { describe, expect, it, vi } from 'vitest';
import type { HintJob, QueueBackend } from '../src/backend.js';
import { payloads } from '../src/queues.js';
import { createWaker } from '../src/waker.js';
import { recordLog, stepHint } from './support/context.js';

const now = () => Date.UTC(2026, 0, 1);

/** A transport that keeps what is sent in memory, one list per sending. */
function memoryBackend(add: (jobs: readonly HintJob[]) => Promise<void> = async () => {}) {
  const sent: { queue: string; jobs: readonly HintJob[] }[] = [];
  const backend: QueueBackend = {
    kind: 'redis',
    local: null,
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
  it('sends the hints of one tick together, once per queue', async () => {
    const { backend, sent } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now });
    const [first, second, third] = [stepHint(), stepHint(), stepHint()];
    waker.wake([first]);
    waker.wake([second, { queue: 'entitlements', entitlementId: third.executionId, provider: 'memory' }]);
    expect(sent).toEqual([]);
    await vi.waitFor(() => expect(sent).toHaveLength(2), 20_000);
    expect(sent.find(({ queue }) => queue === 'executions')?.jobs).toEqual(
      [first, second].map(({ executionId, key }) => ({ payload: { executionId, key }, delay: 0 })),
    );
    expect(sent.find(({ queue }) => queue === 'entitlements')?.jobs).toEqual([
      { payload: { entitlementId: third.executionId, provider: 'memory' }, delay: 0 },
    ]);
    await waker.close();
  });

  it('delays what is due later, sends at once what is overdue, and never delays past what a timer can hold', async () => {
    const { backend, sent } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now });
    waker.wake([
      stepHint(new Date(now() + 60_000)),
      stepHint(new Date(now() - 60_000)),
      stepHint(new Date(now() + 400 * 24 * 3_600_000)),
    ]);
    await vi.waitFor(() => expect(sent).toHaveLength(1), 20_000);
    const delays = sent[0]?.jobs.map((job) => job.delay) ?? [];
    expect(delays[0]).toBeGreaterThan(60_000);
    expect(delays[0]).toBeLessThan(60_050);
    expect(delays.slice(1)).toEqual([0, 2 ** 31 - 1]);
    await waker.close();
  });

  it('sends nothing but ids that the worker can read', async () => {
    const { backend, sent } = memoryBackend();
    const waker = createWaker(backend, recordLog(), { now });
    waker.wake([{ ...stepHint(), reason: 'INC-1 secret' } as never]);
    await vi.waitFor(() => expect(sent).toHaveLength(1), 20_000);
    for (const job of sent[0]?.jobs ?? []) expect(payloads.executions.safeParse(job.payload).success).toBe(true);
    await waker.close();
  });

  it('forgets what could not be sent, without throwing and without a word above debug', async () => {
    const log = recordLog();
    const { backend, sent } = memoryBackend(() => Promise.reject(new Error('away')));
    const waker = createWaker(backend, log, { now });
    waker.wake([stepHint()]);
    await vi.waitFor(() => expect(log.count('debug', /dropped/)).toBe(1), 20_000);
    waker.wake([stepHint()]);
    await vi.waitFor(() => expect(log.count('debug', /dropped/)).toBe(2), 20_000);
    expect(sent.map(({ jobs }) => jobs.length)).toEqual([1, 1]);
    expect(log.lines.every((line) => line.level === 'debug')).toBe(true);
    await waker.close();
    expect(() => waker.wake([stepHint()])).not.toThrow();
  });

  it('sends one list at a time, and keeps a bounded number meanwhile', async () => {
    const held: (() => void)[] = [];
    const { backend, sent } = memoryBackend(() => new Promise((resolve) => held.push(resolve)));
    const waker = createWaker(backend, recordLog(), { now });
    waker.wake([stepHint()]);
    await vi.waitFor(() => expect(sent).toHaveLength(1), 20_000);
    waker.wake(Array.from({ length: 11_000 }, () => stepHint()));
    waker.wake([stepHint()]);
    expect(sent).toHaveLength(1);
    const closing = waker.close();
    await vi.waitFor(
      () => {
        for (const release of held.splice(0)) release();
        expect(sent.flatMap(({ jobs }) => jobs)).toHaveLength(10_001);
      },
      { interval: 1 },
    );
    for (const release of held) release();
    await closing;
    expect(Math.max(...sent.map(({ jobs }) => jobs.length))).toBeLessThanOrEqual(500);
  });

  it('offers a worker of this process what is due now, and the queue what it has no place for', async () => {
    const { backend, sent } = memoryBackend();
    const taken: unknown[] = [];
    backend.local = {
      reserve: () => null,
      take: (hint) => taken.length === 0 && taken.push(hint) === 1,
    };
    const waker = createWaker(backend, recordLog(), { now });
    const [later, first, second] = [stepHint(new Date(now() + 1_000)), stepHint(), stepHint()];
    waker.wake([later, first, second]);
    expect(taken).toEqual([first]);
    await vi.waitFor(() => expect(sent.flatMap(({ jobs }) => jobs)).toHaveLength(2), 20_000);
    await waker.close();
  });
});
