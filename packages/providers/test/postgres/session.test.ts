import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeHostile } from '../../../testkit/src/hostile-settings.js';
import { type ProviderClient, postgresConnector, Retryable } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { openTestServer, type TestServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('a target whose defaults change what statements mean', () => {
  let server: TestServer;
  const clients: ProviderClient[] = [];
  beforeAll(async () => {
    server = await openTestServer();
    await server.admin`create table report as select 42 as answer`;
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server?.close();
  });

  /** Makes a login that may grant the role, and a client of the connector with that login. */
  async function connector(role: string): Promise<{ name: string; client: ProviderClient; authorizer: ByNames }> {
    const own = await server.login('createrole');
    await server.admin.unsafe(`grant ${role} to ${own.name} with admin option`);
    await server.admin.unsafe(`grant pg_signal_backend to ${own.name}`);
    const client = postgresConnector.create(
      postgresConnector.config.parse({
        url: server.url(own),
        email_domains: ['example.test'],
        accept_objects_left_behind: server.version < 160_000,
      }),
      { now: Date.now, log: () => {} },
    );
    clients.push(client);
    if (!client.authorizer) throw new Error('the connector has no authorizer');
    return { name: own.name, client, authorizer: byNames(client.authorizer) };
  }

  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('grants, ends sessions and revokes as ever when all of them are hostile', async () => {
    const [role, user] = [await server.role(), await server.login()];
    await server.admin.unsafe(`grant select on report to ${role}`);
    const { name, client, authorizer } = await connector(role);
    for (const whom of [`database ${server.database}`, `role ${name}`]) {
      for (const statement of makeHostile(whom, server.version)) await server.admin.unsafe(statement);
    }
    const entitlement = { id: 'hostile', identity: user.name, access: { role } };
    await authorizer.standBy?.(calm());
    await authorizer.ensurePresent(entitlement, until, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(true);
    const holder = server.connect(user);
    await holder`set statement_timeout = 0`.catch(() => {});
    expect(await client.weaknesses?.(calm())).not.toBeUndefined();
    await authorizer.ensureAbsent(entitlement, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(false);
    const members = await server.admin`
      select from pg_auth_members where roleid = ${role}::regrole and member = ${user.name}::regrole`;
    expect(members).toHaveLength(0);
    await authorizer.standDown?.();
    await server.admin.unsafe(`alter database ${server.database} reset all`);
  });

  it('waits while the target is read-only, and leaves that as it is', async () => {
    const [role, user] = [await server.role(), await server.login()];
    const { name, authorizer } = await connector(role);
    const entitlement = { id: 'read-only', identity: user.name, access: { role } };
    await server.admin.unsafe(`alter role ${name} set default_transaction_read_only = on`);
    const failure = await failureOf(authorizer.ensurePresent(entitlement, until, calm()));
    expect(failure).toBeInstanceOf(Retryable);
    expect((failure as Error).message).toBe('The database is temporarily unavailable (25006)');
    await server.admin.unsafe(`alter role ${name} reset all`);
  });

  it('is not used by an address that asks for another meaning, and says which setting that is', async () => {
    const config = postgresConnector.config.parse({
      url: `${server.url()}?search_path=public&IntervalStyle=iso_8601`,
      email_domains: ['example.test'],
    });
    const client = postgresConnector.create(config, { now: Date.now, log: () => {} });
    clients.push(client);
    const failure = await failureOf(client.check(calm()));
    expect(failure).toBeInstanceOf(Retryable);
    expect((failure as Error).message).toMatch(
      /ignores the settings IntervalStyle=postgres and search_path=pg_catalog,/,
    );
  });

  it('rejects an sslmode that means nothing in its configuration', () => {
    const parsed = postgresConnector.config.safeParse({ url: `${server.url()}?sslmode=on`, email_domains: ['a.test'] });
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([
      'sslmode=on is not one of disable, allow, prefer, require, verify-ca, verify-full',
    ]);
  });
});
