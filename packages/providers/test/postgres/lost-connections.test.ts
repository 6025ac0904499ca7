import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultyProxy, type Loss, startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { type ProviderClient, postgresConnector, Retryable } from '../../src/index.js';
import type { PostgresConfig } from '../../src/postgres/config.js';
import { openDatabase, type Statements } from '../../src/postgres/database.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { openTestServer, type TestServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;
const losses: Loss[] = ['reset', 'close', 'half-close'];

describe('the postgres connector', () => {
  let server: TestServer;
  let proxy: FaultyProxy;
  let config: PostgresConfig;
  let client: ProviderClient;
  let authorizer: ByNames;
  let entitlement: { id: string; identity: string; access: { role: string } };

  beforeAll(async () => {
    server = await openTestServer();
    const target = new URL(server.url());
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    config = postgresConnector.config.parse({
      url: target.href,
      email_domains: ['example.test'],
      accept_objects_left_behind: server.version < 160_000,
    });
    client = postgresConnector.create(config, { now: Date.now, log: () => {} });
    if (!client.authorizer) throw new Error('the connector has no authorizer');
    authorizer = byNames(client.authorizer);
    entitlement = { id: 'e', identity: (await server.login()).name, access: { role: await server.role() } };
  });
  afterAll(async () => {
    await client.close();
    await proxy[Symbol.asyncDispose]();
    await server.close();
  });

  it('throws a retryable error when a connection is lost at any point, and succeeds when repeated', async () => {
    let lost = 0;
    const badly = async (work: () => Promise<unknown>) => {
      const error = await work().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error === undefined) return;
      expect(error).toBeInstanceOf(Retryable);
      lost += 1;
    };
    for (let chunk = 0; chunk < 60; chunk += 1) {
      proxy.loseAfter(chunk % 20, losses[chunk % losses.length] ?? 'reset');
      await badly(() => authorizer.ensurePresent(entitlement, until, calm()));
      await badly(() => authorizer.ensureAbsent(entitlement, calm()));
    }
    expect(lost).toBeGreaterThan(20);
    await badly(() => authorizer.holds(entitlement, calm()));
    await authorizer.ensurePresent(entitlement, until, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(true);
    await authorizer.ensureAbsent(entitlement, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(false);
  });

  it('gives up a silent connection before its call ends, and works on a new one', async () => {
    await authorizer.holds(entitlement, calm());
    proxy.swallow(true);
    await expect(authorizer.holds(entitlement, calm())).rejects.toThrow(Retryable);
    proxy.swallow(false);
    expect(await authorizer.holds(entitlement, calm())).toBe(false);
  });

  it('opens another connection to stand by when the first has gone silent, before grants have waited for long', async () => {
    const { standBy } = authorizer;
    if (!standBy) throw new Error('the authorizer has nothing to stand by');
    await standBy(calm());
    proxy.lose('half-open');
    const lost = performance.now();
    await standBy(calm());
    // The check waits three seconds for a response; a statement would wait seven.
    expect(performance.now() - lost).toBeLessThan(6_000);
    await authorizer.standDown?.();
  });

  it('gives the connection that stands by one second to respond after another one was lost', async () => {
    await authorizer.standBy?.(calm());
    proxy.swallow(true);
    await expect(authorizer.holds(entitlement, calm())).rejects.toThrow(Retryable);
    proxy.swallow(false);
    // Both waits begin together. Without the other lost connection, the limit would be three seconds.
    const later = new Promise((resolve) => setTimeout(() => resolve('later'), 2_900));
    expect(await Promise.race([authorizer.standBy?.(calm()).then(() => 'in time'), later])).toBe('in time');
    await authorizer.standDown?.();
  });

  it('gives it three seconds when Belay itself has ended the other one, after a call that was aborted', async () => {
    const database = openDatabase(config);
    const warm = (sql: Statements) => sql`select 1`;
    await database.standBy(calm(), warm);
    const sleep = (signal: AbortSignal) => database.read(signal, (sql) => sql`select pg_sleep(4)`);
    const aborted = new AbortController();
    const calls = [sleep(calm()), sleep(aborted.signal)];
    aborted.abort();
    const ended = await Promise.allSettled(calls);
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    proxy.lose('half-open');
    const began = performance.now();
    await database.standBy(calm(), warm);
    expect(performance.now() - began).toBeGreaterThan(2_500);
    await database.close();
  });
});
