import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { QueueBackend } from '../../src/backend.js';
import { type RunningWorker, startWorker, type WorkerOptions } from '../../src/start.js';
import { createWaker } from '../../src/waker.js';
import { type RecordedLog, type RecordedVerbs, recordLog, recordVerbs, stepJob, testContext } from './context.js';
import type { Transport, transports } from './transports.js';

/** The places of a worker that does one piece of work of each kind at a time. */
const one = { executions: 1, provider: 1, grants: 1, calls: 1 };
const eventually = { timeout: 30_000, interval: 10 };

/** Declares the tests that jobs have to pass over every transport. */
export function describeJobs({ kind, start }: (typeof transports)[number]): void {
  describe(`jobs over ${kind}`, () => {
    let transport: Transport;
    let log: RecordedLog;
    let cleanups: (() => Promise<unknown>)[];
    const unhandled = vi.fn();

    beforeAll(async () => {
      transport = await start();
      process.on('unhandledRejection', unhandled);
    });
    afterAll(async () => {
      process.off('unhandledRejection', unhandled);
      await transport.stop();
    });
    beforeEach(() => {
      log = recordLog();
      cleanups = [];
    });
    afterEach(async () => {
      for (const cleanup of cleanups.reverse()) await cleanup();
      expect(unhandled).not.toHaveBeenCalled();
    });

    async function open(): Promise<QueueBackend> {
      const backend = await transport.open(log);
      cleanups.push(() => backend.close());
      if (kind !== 'postgres') await healthy(backend);
      return backend;
    }

    async function healthy(backend: QueueBackend): Promise<void> {
      await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), eventually);
    }

    /** Returns a waker. Without a backend it gets one of its own, as in another process. */
    async function waker(backend?: QueueBackend) {
      const created = createWaker(backend ?? (await open()), log, { now: Date.now });
      cleanups.push(() => created.close());
      return created;
    }

    async function work(
      backend: QueueBackend,
      verbs: RecordedVerbs,
      options: Partial<WorkerOptions> = {},
    ): Promise<RunningWorker> {
      const worker = await startWorker({ context: testContext(log), backend, verbs, ...options });
      cleanups.push(() => worker.stop({ graceMilliseconds: 1_000 }));
      return worker;
    }

    /** Sends new jobs until one arrives, because these tests do not measure how long a connection takes to come back. */
    async function flows(wake: Awaited<ReturnType<typeof waker>>, verbs: RecordedVerbs): Promise<void> {
      await vi.waitFor(() => {
        const job = stepJob();
        wake.wake([job]);
        expect(verbs.calls.length).toBeGreaterThan(0);
      }, eventually);
    }

    it('delivers a job to the verb of its queue, with its ids', async () => {
      const backend = await open();
      const seen: unknown[] = [];
      const verbs = recordVerbs();
      await work(backend, {
        ...verbs,
        performStep: async (_context, input) => void seen.push(input),
        claimDue: async (_context, { provider }) => {
          seen.push(provider);
          return [];
        },
      });
      const { executionId, key } = stepJob();
      const entitlementId = stepJob().executionId;
      (await waker()).wake([
        { queue: 'executions', executionId, key },
        { queue: 'entitlements', entitlementId, provider: 'memory' },
      ]);
      await vi.waitFor(() => expect(seen).toHaveLength(2), eventually);
      expect(seen).toContainEqual({ executionId, key });
      expect(seen).toContain('memory');
    });

    it('delivers a job that is due later when it is due, and not before', async () => {
      const backend = await open();
      const arrived: number[] = [];
      await work(
        backend,
        recordVerbs(() => void arrived.push(Date.now())),
      );
      const dueAt = new Date(Date.now() + 400);
      (await waker()).wake([stepJob(dueAt)]);
      await vi.waitFor(() => expect(arrived).toHaveLength(1), eventually);
      expect(arrived[0]).toBeGreaterThanOrEqual(dueAt.getTime());
      expect(arrived[0]).toBeLessThan(dueAt.getTime() + 20_000);
    });

    it('delivers many jobs, each once, even the same job twice', async () => {
      const backend = await open();
      const verbs = recordVerbs();
      await work(backend, verbs);
      const jobs = Array.from({ length: process.env.CI ? 999 : 199 }, () => stepJob());
      const twice = jobs[0] ?? stepJob();
      (await waker()).wake([...jobs, twice]);
      await vi.waitFor(() => expect(verbs.calls).toHaveLength(jobs.length + 1), eventually);
      expect(verbs.calls.toSorted()).toEqual([...jobs, twice].map((job) => job.key).sort());
    });

    it('drops a job that it cannot read, counts and logs it once, and continues', async () => {
      const backend = await open();
      const queue = backend.openQueue('executions');
      cleanups.push(() => queue.close());
      const verbs = recordVerbs();
      const unreadable = [{}, { executionId: 'not-an-id', key: '/a' }, { ...stepJob(), extra: 1 }] as never[];
      await queue.add(unreadable);
      await work(backend, verbs);
      const good = stepJob();
      (await waker()).wake([good]);
      await vi.waitFor(() => expect(verbs.calls).toEqual([good.key]), eventually);
      await vi.waitFor(() => expect(backend.deadLetters.counts().unreadable).toBe(3), eventually);
      expect(log.count('warn', /dropped: unreadable/)).toBe(1);
    });

    it('continues after a verb that failed, and does not repeat it', async () => {
      const backend = await open();
      const bad = stepJob();
      const verbs = recordVerbs((id) => {
        if (id === bad.key) throw new Error('the provider is away');
      });
      const worker = await work(backend, verbs, { places: one });
      const send = await waker();
      const good = [stepJob(), stepJob(), stepJob()];
      send.wake([bad, ...good]);
      await vi.waitFor(() => expect(verbs.calls).toHaveLength(4), eventually);
      expect(verbs.calls.toSorted()).toEqual([bad, ...good].map((job) => job.key).sort());
      expect(log.count('warn', /a step failed/)).toBe(1);
      expect(worker.running()).toBe(true);
    });

    it('finishes the running work before it stops, and accepts no more', async () => {
      const backend = await open();
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      let finished = 0;
      const verbs = recordVerbs(async () => {
        await gate;
        finished += 1;
      });
      const worker = await work(backend, verbs, { places: one });
      const send = await waker();
      send.wake([stepJob(), stepJob()]);
      await vi.waitFor(() => expect(verbs.calls).toHaveLength(1), eventually);
      const stopping = worker.stop();
      expect(worker.running()).toBe(false);
      release();
      await stopping;
      expect(finished).toBe(1);
      expect(verbs.calls).toHaveLength(1);

      // The job that it left goes to another worker.
      const other = recordVerbs();
      await work(backend, other);
      await vi.waitFor(() => expect(other.calls).toHaveLength(1), eventually);
      expect(other.calls).not.toEqual(verbs.calls);
    });

    it('stops without the work that exceeds the grace period', async () => {
      const backend = await open();
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const verbs = recordVerbs(() => gate);
      const worker = await work(backend, verbs);
      (await waker()).wake([stepJob()]);
      await vi.waitFor(() => expect(verbs.calls).toHaveLength(1), eventually);
      await worker.stop({ graceMilliseconds: 20 });
      expect(log.count('warn', /work unfinished/)).toBe(1);
      release();
    });

    it('shares the work between two workers', async () => {
      const [first, second] = [await open(), await open()];
      const busy = new Set<string>();
      let release = () => {};
      const both = new Promise<void>((resolve) => {
        release = resolve;
      });
      const verbsOf = (name: string) =>
        recordVerbs(async () => {
          busy.add(name);
          if (busy.size === 2) release();
          await both;
        });
      const [verbsOne, verbsTwo] = [verbsOf('one'), verbsOf('two')];
      await work(first, verbsOne, { places: one });
      await work(second, verbsTwo, { places: one });
      const jobs = Array.from({ length: 20 }, () => stepJob());
      (await waker()).wake(jobs);
      await vi.waitFor(() => expect(verbsOne.calls.length + verbsTwo.calls.length).toBe(20), eventually);
      expect([...verbsOne.calls, ...verbsTwo.calls].sort()).toEqual(jobs.map((job) => job.key).sort());
      expect(verbsOne.calls.length).toBeGreaterThan(0);
      expect(verbsTwo.calls.length).toBeGreaterThan(0);
    });

    it('sweeps while the queue is down, reports and logs it once, and jobs flow again afterwards', async () => {
      const backend = await open();
      const verbs = recordVerbs();
      const worker = await work(backend, verbs, { sweepMilliseconds: 20 });
      const send = await waker();
      await flows(send, verbs);

      await transport.down();
      await vi.waitFor(async () => expect(await backend.check()).toMatch(/not reachable/), eventually);
      expect(await backend.check()).not.toContain('127.0.0.1');
      const sweeps = verbs.sweeps;
      for (let round = 0; round < 5; round += 1) {
        send.wake([stepJob(), { queue: 'entitlements', entitlementId: stepJob().executionId, provider: 'memory' }]);
        await vi.waitFor(() => expect(verbs.sweeps).toBeGreaterThan(sweeps + round), eventually);
      }
      expect(worker.running()).toBe(true);

      await transport.up();
      await healthy(backend);
      verbs.calls.length = 0;
      await flows(send, verbs);
      await vi.waitFor(() => expect(log.count('info', /: reachable again/)).toBe(2), eventually);
      // Once by the worker's process and once by the sender's.
      expect(log.count('warn', /not reachable/)).toBe(2);
      expect(log.count('error', /./)).toBe(0);
    });

    it('sweeps when the queue goes down and when it is back, because jobs were lost', async () => {
      const backend = await open();
      const verbs = recordVerbs();
      // The regular sweeps of this worker are an hour apart.
      await work(backend, verbs);
      const send = await waker();
      await flows(send, verbs);
      const before = verbs.sweeps;
      await transport.down();
      await vi.waitFor(() => expect(verbs.sweeps).toBeGreaterThan(before), eventually);
      await vi.waitFor(() => expect(backend.isAway()).toBe(true), eventually);
      await transport.up();
      await healthy(backend);
      await vi.waitFor(() => expect(backend.isAway()).toBe(false), eventually);
      const after = verbs.sweeps;
      await vi.waitFor(() => expect(verbs.sweeps).toBeGreaterThan(after), eventually);
    });

    it('starts a worker while the queue is down, and the worker gets jobs when the queue is up', async () => {
      const early = kind === 'postgres' ? [await open(), await open()] : null;
      await transport.down();
      if (early !== null) await expect(transport.open(log)).rejects.toThrow('the queue tables could not be prepared');
      const [backend, sender] = (early ?? [await transport.open(log), await transport.open(log)]) as [
        QueueBackend,
        QueueBackend,
      ];
      if (early === null) cleanups.push(() => Promise.all([backend.close(), sender.close()]));
      const verbs = recordVerbs();
      await work(backend, verbs, { sweepMilliseconds: 20 });
      const send = await waker(sender);
      send.wake([stepJob()]);
      await vi.waitFor(() => expect(verbs.sweeps).toBeGreaterThan(2), eventually);
      expect(await backend.check()).toMatch(/not reachable/);
      await transport.up();
      await flows(send, verbs);
      await healthy(backend);
    });

    it('stops in time while the queue is down', async () => {
      const backend = await open();
      const verbs = recordVerbs();
      const worker = await work(backend, verbs);
      const send = await waker();
      await flows(send, verbs);
      await transport.down();
      const started = performance.now();
      send.wake([stepJob()]);
      await Promise.all([worker.stop({ graceMilliseconds: 500 }), send.close()]);
      expect(performance.now() - started).toBeLessThan(20_000);
      await transport.up();
    });

    it('skips the queue inside a process, whether or not the queue is up', async () => {
      const backend = await open();
      const verbs = recordVerbs();
      const worker = await work(backend, verbs);
      await transport.down();
      const job = stepJob();
      const send = await waker(backend);
      send.wake([job]);
      expect(verbs.calls).toEqual([]);
      await vi.waitFor(() => expect(verbs.calls).toEqual([job.key]), eventually);
      await transport.up();
      await healthy(backend);
      await worker.stop();
      expect(backend.local).toBeNull();
    });
  });
}
