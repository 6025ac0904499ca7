import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { hasRedis, startRedis } from '../../../../chaos/src/stage/redis.js';
import { openQueueBackend } from '../../src/open-backend.js';
import { startWorker } from '../../src/start.js';
import { createWaker } from '../../src/waker.js';
import { recordLog, recordVerbs, stepJob, testContext } from '../support/context.js';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.js';

const eventually = { timeout: 30_000, interval: 10 };

describe.runIf(hasRedis())('a queue in a Redis Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());

  it('is away while the one node that holds it is away, and works again when that node is back', async () => {
    const log = recordLog();
    const prefix = `{belay-${randomBytes(4).toString('hex')}}`;
    const open = () => openQueueBackend({ redisUrl: cluster.url, databaseUrl: '', prefix, log });
    const [backend, sender] = [await open(), await open()];
    const verbs = recordVerbs();
    // The regular sweeps of this worker are an hour apart.
    const worker = await startWorker({ context: testContext(log), backend, verbs });
    const waker = createWaker(sender, log);
    onTestFinished(async () => {
      await worker.stop({ graceMilliseconds: 500 });
      await waker.close();
      await Promise.all([backend.close(), sender.close()]);
    });
    /** Sends new jobs until one arrives. */
    const flows = () =>
      vi.waitFor(() => {
        waker.wake([stepJob()]);
        expect(verbs.calls.length).toBeGreaterThan(0);
      }, eventually);
    await flows();
    expect(await sender.check()).toBe('healthy');

    const node = await cluster.holderOf(prefix);
    const before = verbs.sweeps;
    await cluster.kill([node]);
    // The other nodes still respond, but they do not hold the queue.
    await vi.waitFor(async () => expect(await sender.check()).toMatch(/not reachable/), eventually);
    await vi.waitFor(() => expect(backend.isAway()).toBe(true), eventually);
    await vi.waitFor(() => expect(verbs.sweeps).toBeGreaterThan(before), eventually);
    expect(worker.running()).toBe(true);

    await cluster.start([node]);
    verbs.calls.length = 0;
    await flows();
    await vi.waitFor(async () => expect(await sender.check()).toBe('healthy'), eventually);
    await vi.waitFor(() => expect(backend.isAway()).toBe(false), eventually);
    expect(log.count('error', /./)).toBe(0);
    expect(log.count('warn', /not reachable/)).toBeLessThanOrEqual(2);
  });
});

describe.runIf(hasRedis())('commands to a Redis Cluster', () => {
  it('run a script on the node of whichever key they name, as the counters of rate limits do', async () => {
    const cluster = await startRedisCluster();
    const backend = await openQueueBackend({ redisUrl: cluster.url, databaseUrl: '', log: recordLog() });
    onTestFinished(async () => {
      await backend.close();
      await cluster.stop();
    });
    await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), eventually);
    const digest = String(await backend.send?.(['SCRIPT', 'LOAD', "return redis.call('INCR', KEYS[1])"]));
    const keys = Array.from({ length: 30 }, (_, index) => `belay:limit:all:192.0.2.${index}`);
    const holders = new Set(await Promise.all(keys.map((key) => cluster.holderOf(key))));
    expect(holders.size).toBe(3);
    for (const time of [1, 2]) {
      const counts = await Promise.all(keys.map((key) => backend.send?.(['EVALSHA', digest, '1', key])));
      expect(counts).toEqual(keys.map(() => time));
    }
  });
});

describe.runIf(hasRedis())('a queue in a Redis that is full', () => {
  it('is away for as long as nothing can be written, and the log says so once', async () => {
    const server = await startRedis(['--maxmemory-policy', 'noeviction']);
    const log = recordLog();
    const prefix = `{belay-${randomBytes(4).toString('hex')}}`;
    const backend = await openQueueBackend({
      redisUrl: `redis://127.0.0.1:${server.port}`,
      databaseUrl: '',
      prefix,
      log,
    });
    const client = new Redis(server.port, '127.0.0.1');
    const waker = createWaker(backend, log);
    onTestFinished(async () => {
      await waker.close();
      client.disconnect();
      await backend.close();
      await server.stop();
    });
    await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), eventually);
    await client.config('SET', 'maxmemory', '1');
    waker.wake([stepJob()]);
    await vi.waitFor(() => expect(backend.isAway()).toBe(true), eventually);
    expect(await backend.check()).toBe('Redis is not reachable (OOM)');
    waker.wake([stepJob()]);
    await client.config('SET', 'maxmemory', '0');
    await vi.waitFor(() => expect(backend.isAway()).toBe(false), eventually);
    expect(await backend.check()).toBe('healthy');
    expect(log.count('warn', /not reachable/)).toBe(1);
    expect(log.count('info', /: reachable again/)).toBe(1);
  });
});
