import { serverRouter } from '@belay/api';
import { openDatabase } from '@belay/db';
import { type Served, send, serve } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';

describe('while the database cannot be reached', () => {
  let world: World;
  let proxy: FaultyProxy;
  let served: Served;
  let closeDatabase: () => Promise<void>;
  beforeAll(async () => {
    world = await createWorld();
  });
  beforeEach(async () => {
    const target = new URL(world.database.url);
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    const client = openDatabase(target.href, { max: 4 });
    closeDatabase = () => client.close(0);
    served = await serve({ context: { ...world.context, db: client.db }, router: serverRouter });
  });
  afterEach(async () => {
    await served[Symbol.asyncDispose]();
    await closeDatabase();
    await proxy[Symbol.asyncDispose]();
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });

  const paths = [
    '/api/v1/roles',
    '/api/v1/executions',
    '/api/v1/access',
    '/api/v1/approvals',
    '/api/v1/logs',
    '/api/v1/ready',
  ];
  const faults: [string, () => void][] = [
    [
      'resets its connections and rejects new ones',
      () => {
        proxy.refuse(true);
        proxy.lose('reset');
      },
    ],
    ['swallows what is sent', () => proxy.swallow(true)],
  ];

  it.each(faults)(
    'ends every request within 10 s as 503 with Retry-After and a request id, and writes one line for all, while it %s',
    async (_, begin) => {
      const authorization = `Bearer ${await world.token('requester')}`;
      const ask = async (path: string, accept = 'application/json', method = 'GET') => {
        const started = performance.now();
        const answer = await send(`${served.url}${path}`, { method, headers: { authorization, accept } });
        return { ...answer, milliseconds: performance.now() - started };
      };
      await expect.poll(async () => (await ask('/api/v1/executions')).status, { timeout: 30_000 }).toBe(200);
      served.lines.length = 0;
      begin();
      const answers = await Promise.all([
        ...paths.flatMap((path) => [ask(path), ask(path, 'text/html')]),
        ...Array.from({ length: 20 }, () => ask('/api/v1/executions')),
        ask('/trpc/executions.list'),
      ]);
      for (const { status, headers, body, milliseconds } of answers) {
        expect({ status, retry: headers['retry-after'], id: typeof headers['x-request-id'] }).toEqual({
          status: 503,
          retry: '5',
          id: 'string',
        });
        expect(milliseconds).toBeLessThan(10_000);
        expect(body).not.toMatch(/ECONN|CONNECTION_|127\.0\.0\.1:|select /);
      }
      const errors = served.lines.filter(({ level }) => level === 'error');
      expect(errors).toHaveLength(1);
      expect(errors[0]?.message).toContain('the database cannot be reached');
      proxy.refuse(false);
      proxy.swallow(false);
      const healed = performance.now();
      await expect.poll(async () => (await ask('/api/v1/executions')).status, { timeout: 30_000 }).toBe(200);
      expect(performance.now() - healed).toBeLessThan(10_000);
    },
  );

  it.each(faults)(
    'ends a call that waits for a request within its time and 5 s as 503, while it %s',
    async (_, begin) => {
      const authorization = `Bearer ${await world.token('requester')}`;
      const ask = (path: string) => send(`${served.url}/api/v1${path}`, { headers: { authorization } });
      const elevate = '/elevate?role=reader&provider=store&reason=incident';
      await expect.poll(async () => (await ask(elevate)).status, { timeout: 30_000 }).toBe(200);
      const [asked] = await world.database.sql`select id from executions order by started_at desc limit 1`;
      const id = String(asked?.id);
      const isWatched = async () => {
        const rows = await world.database.sql`select from watches where execution_id = ${id}`;
        return rows.length > 0;
      };
      const started = performance.now();
      const waiting = ask(`/execution/${id}?until=ended&wait=PT5S`);
      await expect.poll(isWatched).toBe(true);
      begin();
      expect(await waiting).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
      expect(performance.now() - started).toBeLessThan(11_000);
      proxy.refuse(false);
      proxy.swallow(false);
    },
  );
});
