import { serverRouter } from '@belay/api';
import { openDatabase } from '@belay/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { type Served, send, serve } from './support/serve.js';
import { createWorld, type World } from './support/world.js';

describe('while the database cannot be reached', () => {
  let world: World;
  let proxy: FaultyProxy;
  let served: Served;
  let closeDatabase: () => Promise<void>;
  beforeAll(async () => {
    world = await createWorld();
    const target = new URL(world.database.url);
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    const client = openDatabase(target.href, { max: 4 });
    closeDatabase = () => client.close(0);
    served = await serve({ context: { ...world.context, db: client.db }, router: serverRouter });
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await closeDatabase();
    await proxy[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  it('ends every request as 503 with Retry-After and a request id, and writes one line for all of them', async () => {
    const authorization = `Bearer ${await world.token('requester')}`;
    const ask = (path: string, accept = 'application/json') =>
      send(`${served.url}${path}`, { headers: { authorization, accept } });
    expect((await ask('/api/v1/executions')).status).toBe(200);
    proxy.refuse(true);
    proxy.lose('reset');
    const paths = ['/api/v1/roles', '/api/v1/executions', '/api/v1/access', '/api/v1/approvals', '/api/v1/logs'];
    const answers = await Promise.all([
      ...paths.flatMap((path) => [ask(path), ask(path, 'text/html')]),
      ask('/trpc/executions.list'),
    ]);
    for (const { status, headers, body } of answers) {
      expect({ status, retry: headers['retry-after'], id: typeof headers['x-request-id'] }).toEqual({
        status: 503,
        retry: '5',
        id: 'string',
      });
      expect(body).not.toMatch(/ECONN|CONNECTION_|127\.0\.0\.1:|select /);
    }
    const errors = served.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain('the database cannot be reached');
    proxy.refuse(false);
    await expect.poll(async () => (await ask('/api/v1/executions')).status, { timeout: 20_000 }).toBe(200);
  });
});
