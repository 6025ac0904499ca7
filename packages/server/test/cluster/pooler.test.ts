import { inspectDatabase } from '@belay/operations';
import { type ProviderClient, postgresConnector, Retryable } from '@belay/providers';
import { byNames } from '@belay/providers/testkit';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Fifteen, hasFifteen, startFifteen } from '../../../providers/test/postgres/fifteen.js';
import { hasPooler, type Pooler, startPooler } from './pooler.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

/** docs/guides/scale.md, "PostgreSQL", and docs/connectors/postgres.md, "Behind a pooler". */
describe.runIf(hasFifteen() && hasPooler())('a connection through PgBouncer', { timeout: 120_000 }, () => {
  let server: Fifteen;
  let admin: postgres.Sql;
  let behind: string;
  let pooler: Pooler;
  const clients: ProviderClient[] = [];

  beforeAll(async () => {
    server = await startFifteen();
    admin = postgres(server.url, { max: 1, onnotice: () => {} });
    await admin.unsafe('create role belay login createrole').simple();
    await admin.unsafe('create database belay owner belay');
    await admin.unsafe(`grant pg_signal_backend to belay; create role reader; grant reader to belay with admin option;
      create role rita login`);
    behind = Object.assign(new URL(server.url), { username: 'belay', pathname: '/belay' }).href;
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await pooler?.stop();
    await admin.unsafe('alter role belay reset all');
  });
  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });

  const limitRole = (settings: Record<string, string | number>) =>
    admin.unsafe(
      Object.entries(settings)
        .map(([name, value]) => `alter role belay set ${name} = ${value}`)
        .join('; '),
    );

  function openTarget(): ProviderClient {
    const config = postgresConnector.config.parse({
      url: pooler.url,
      email_domains: ['example.com'],
      accept_objects_left_behind: true,
    });
    const client = postgresConnector.create(config, { now: Date.now, log: () => {} }) as ProviderClient;
    clients.push(client);
    return client;
  }

  const messageOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    );

  it('to Belay’s own database that rejects its settings names the setting of PgBouncer', async () => {
    pooler = await startPooler(behind, { ignored: 'extra_float_digits' });
    expect(await messageOf(inspectDatabase(pooler.url))).toMatch(/\(08P01\).*ignore_startup_parameters.*scale\.md/);
  });

  it('to Belay’s own database in transaction mode names the mode', async () => {
    await limitRole({
      statement_timeout: 4_500,
      lock_timeout: 3_600,
      idle_in_transaction_session_timeout: 4_500,
      search_path: 'public',
    });
    pooler = await startPooler(behind, { mode: 'transaction' });
    expect(await messageOf(inspectDatabase(pooler.url))).toMatch(/set pool_mode = session/);
  });

  it.each(['session', 'transaction'] as const)(
    'to a target in %s mode waits until its login has the settings, names them, and grants and revokes then',
    async (mode) => {
      pooler = await startPooler(behind, { mode });
      const message = await messageOf(openTarget().check(calm()));
      expect(message).toMatch(/search_path=pg_catalog and statement_timeout=5000 and lock_timeout=4000/);
      await limitRole({
        search_path: 'pg_catalog',
        statement_timeout: 5_000,
        lock_timeout: 4_000,
        idle_in_transaction_session_timeout: 5_000,
      });
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'belay'`;
      const { authorizer: own, check } = openTarget();
      const authorizer = byNames(own);
      await expect.poll(() => messageOf(check(calm())), { timeout: 20_000 }).toBeUndefined();
      const entitlement = { id: 'pooled', identity: 'rita', access: { role: 'reader' } };
      const members = () =>
        admin`select from pg_auth_members where roleid = 'reader'::regrole and member = 'rita'::regrole`;
      await authorizer.standBy?.(calm());
      await authorizer.ensurePresent(entitlement, until, calm());
      expect(await members()).toHaveLength(1);
      await authorizer.ensureAbsent(entitlement, calm());
      expect(await members()).toHaveLength(0);
    },
  );

  it('to a target that rejects its settings waits, and names the setting of PgBouncer', async () => {
    pooler = await startPooler(behind, { ignored: 'extra_float_digits' });
    const failure = await openTarget()
      .check(calm())
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Retryable);
    expect((failure as Error).message).toMatch(/ignore_startup_parameters \(docs\/connectors\/postgres\.md\)/);
  });
});
