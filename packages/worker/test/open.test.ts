import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../../../chaos/src/stage/redis.js';
import { openQueueBackend } from '../src/open-backend.js';
import { startWorker } from '../src/start.js';
import { createWaker } from '../src/waker.js';
import { recordLog, recordVerbs, stepJob, testContext } from './support/context.js';
import { createDatabase } from './support/transports.js';

describe('opening a queue on PostgreSQL', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('succeeds when many processes do it at the same time on a new database, and again later', async () => {
    const open = () => openQueueBackend({ databaseUrl: database.url.href, log: recordLog() });
    const backends = await Promise.all(Array.from({ length: 8 }, open));
    const again = await open();
    expect(await again.check()).toBe('healthy');
    for (const backend of [...backends, again]) await backend.close();
  });

  it('keeps its tables out of the schema of Belay, and the log of events short', async () => {
    const backend = await openQueueBackend({ databaseUrl: database.url.href, log: recordLog() });
    const verbs = recordVerbs();
    const worker = await startWorker({ context: testContext(recordLog()), backend, verbs });
    const waker = createWaker(backend, recordLog(), { now: Date.now });
    waker.wake(Array.from({ length: 1_000 }, () => stepJob()));
    await vi.waitFor(() => expect(verbs.calls).toHaveLength(1_000), { timeout: 30_000 });
    await waker.close();
    await worker.stop();
    await backend.close();
    const client = new Client(database.url.href);
    await client.connect();
    const { rows } = await client.query<{ tables: number; jobs: number; events: number }>(`
      select (select count(*)::int from pg_tables where schemaname = 'public') as tables,
        (select count(*)::int from bullmq.job) as jobs, (select count(*)::int from bullmq.event) as events`);
    await client.end();
    expect(rows[0]?.tables).toBe(0);
    expect(rows[0]?.jobs).toBe(0);
    expect(rows[0]?.events).toBeLessThan(2_000);
  });

  it('rejects a database that is not reachable, without its address or password', async () => {
    const opening = openQueueBackend({ databaseUrl: 'postgres://belay:hunter2@127.0.0.1:1/none', log: recordLog() });
    await expect(opening).rejects.toThrow(/^the queue tables could not be prepared in the database$/);
  });
});

describe('opening a queue on Redis', () => {
  it('rejects a URL of another scheme, without repeating it', async () => {
    const opening = openQueueBackend({ redisUrl: 'http://:hunter2@redis', databaseUrl: '', log: recordLog() });
    await expect(opening).rejects.toThrow(/^the URL of Redis must start with redis:\/\/ or rediss:\/\/$/);
  });
});

describe.runIf(hasRedis())('a cluster of Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']);
  });
  afterAll(() => server.stop());

  it('carries jobs, because every key of a queue has the same hash tag', async () => {
    const { Redis } = await import('ioredis');
    const admin = new Redis(server.port, '127.0.0.1');
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await vi.waitFor(async () => expect(await admin.call('CLUSTER', 'INFO')).toContain('cluster_state:ok'), {
      timeout: 30_000,
    });
    const node = `redis://127.0.0.1:${server.port}`;
    const log = recordLog();
    const backend = await openQueueBackend({ redisUrl: `${node},${node}`, databaseUrl: '', log });
    await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), { timeout: 60_000 });
    const verbs = recordVerbs();
    const worker = await startWorker({ context: testContext(log), backend, verbs });
    // A backend of its own, as in another process, so that the jobs go through Redis.
    const sender = await openQueueBackend({ redisUrl: `${node},${node}`, databaseUrl: '', log });
    const waker = createWaker(sender, log, { now: Date.now });
    await vi.waitFor(async () => expect(await sender.check()).toBe('healthy'), { timeout: 60_000 });
    const jobs = [stepJob(), stepJob(), stepJob(new Date(Date.now() + 50))];
    waker.wake(jobs);
    await vi.waitFor(() => expect(verbs.calls.toSorted()).toEqual(jobs.map((job) => job.key).sort()), {
      timeout: 60_000,
    });
    const keys = await admin.keys('*');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => !key.startsWith('{belay}:'))).toEqual([]);
    await waker.close();
    await worker.stop();
    await sender.close();
    await backend.close();
    admin.disconnect();
  });
});
