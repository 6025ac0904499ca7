import { cancelExecution, requestElevation, returnAccess } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { afterEach, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { access, ask, type Cast, catalogWith, openCast, runOut } from './support/stories.js';

const automatic = { workflow: 'automatic' };

describe('an entitlement is what its pin says', () => {
  let cast: Cast | undefined;
  let server: TestServer | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    await server?.close();
    cast = undefined;
    server = undefined;
  });
  const open = async (options: Parameters<typeof openCast>[0] = {}) => {
    cast = await openCast({ catalog: catalogWith({}), ...options });
    return cast;
  };
  const rowsOf = ({ house }: Cast) =>
    house.database
      .sql`select id, key, provider, identity, access, target, subject, state from entitlements order by id`;
  const holds = (identity = 'ada@example.com') => (cast as Cast).house.provider.holds(identity, access);

  it('stores the target and the subject with the intent', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    expect(await rowsOf(cast as Cast)).toMatchObject([
      { target: 'memory', subject: { identity: 'ada@example.com', access }, identity: 'ada@example.com' },
    ]);
  });

  it('revokes what was granted, also when the labels of the row say something else', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    expect(holds()).toBe(true);
    house.provider.put('grace@example.com', access);
    await house.database.sql`update entitlements set identity = 'grace@example.com'`;
    await cancelExecution(ada, { id }).catch(() => returnAccess(ada, { execution_id: id }));
    await house.work();
    expect(holds()).toBe(false);
    expect(holds('grace@example.com')).toBe(true);
  });

  it('rejects a request for a role that does not exist at the provider, when it is made', async () => {
    const { house, ada } = await open();
    house.provider.options.roles = [{ name: 'write', arn: 'write', description: '' }];
    const refusal = requestElevation(ada, { role: 'reader', reason: 'a test', ...automatic });
    await expect(refusal).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'providers' }] });
    expect(await rowsOf(cast as Cast)).toEqual([]);
  });

  it('takes a new login with an old name for another identity', async () => {
    server = await openTestServer();
    const { admin } = server;
    const role = await server.role();
    const login = await server.login();
    const catalog = catalogOf(server, role, login.name);
    const { house, ada } = await open({ catalog, connectors: [postgresConnector as Connector] });
    await ask(house, ada, { ...automatic, duration: 'PT10M' });
    await runOut(house);
    await admin.unsafe(`drop role ${login.name}; create role ${login.name} login`);
    await ask(house, ada, { ...automatic, duration: 'PT10M' });
    const [first, second_, ...more] = await rowsOf(cast as Cast);
    expect(more).toEqual([]);
    expect(first).toMatchObject({ identity: login.name, state: 'absent' });
    expect(second_).toMatchObject({ identity: login.name, target: first?.target, state: 'granted' });
    expect(second_?.subject.identity).not.toBe(first?.subject.identity);
    expect(second_?.key).not.toBe(first?.key);
    await runOut(house);
  });

  it('keeps one row for a login that is renamed, and says its new name', async () => {
    server = await openTestServer();
    const role = await server.role();
    const login = await server.login();
    const renamed = `${login.name}_renamed`;
    const { house, ada } = await open({
      catalog: catalogOf(server, role, login.name),
      connectors: [postgresConnector as Connector],
    });
    await ask(house, ada, { ...automatic, duration: 'PT10M' });
    await runOut(house);
    await server.admin.unsafe(`alter role ${login.name} rename to ${renamed}`);
    await house.applyCatalog(catalogOf(server, role, renamed));
    await ask(house, ada, { ...automatic, duration: 'PT10M' });
    expect(await rowsOf(cast as Cast)).toMatchObject([{ identity: renamed, state: 'granted' }]);
    await runOut(house);
    await server.admin.unsafe(`alter role ${renamed} rename to ${login.name}`);
  });
});

function catalogOf(server: TestServer, role: string, login: string): object {
  const base = catalogWith({}) as { providers: object };
  const config = { url: server.url(), identity: { table: { 'ada@example.com': login } } };
  return {
    ...base,
    ...catalogWith({}, { providers: ['shop'], inherits: [`shop:${role}`] }),
    providers: { ...base.providers, shop: { provider: 'postgres', config } },
  };
}
