import { cancelExecution, getExecution, reconcileEntitlement, requestElevation, returnAccess } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { afterEach, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { access, ask, type Cast, catalogWith, minute, openCast, request, runOut, second } from './support/stories.js';
import { makeUnpinned } from './support/unpinned.js';

const automatic = { workflow: 'automatic' };

describe('an entitlement is what its pin says', () => {
  let cast: Cast | undefined;
  let server: TestServer | undefined;
  const lines: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (_: object, line: string) => void lines.push(line) };
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    await server?.close();
    cast = undefined;
    server = undefined;
    lines.length = 0;
  });
  const open = async (options: Parameters<typeof openCast>[0] = {}) => {
    cast = await openCast({ catalog: catalogWith({}), log, ...options });
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

  describe('rows of an older version, which have no pin', () => {
    it('are pinned within a sweep of the upgrade', async () => {
      const { house, ada } = await open();
      await ask(house, ada, automatic);
      const [before] = await rowsOf(cast as Cast);
      await makeUnpinned(house);
      await house.work();
      expect(await rowsOf(cast as Cast)).toEqual([before]);
      expect(holds()).toBe(true);
    });

    it('are pinned when the provider answers again, and revoked by the pin', async () => {
      const { house, ada } = await open();
      await ask(house, ada, { ...automatic, duration: 'PT10M' });
      const [before] = await rowsOf(cast as Cast);
      await makeUnpinned(house);
      house.provider.down = true;
      await house.pass(11 * minute);
      expect(await rowsOf(cast as Cast)).toMatchObject([{ target: null, state: 'revoking' }]);
      house.provider.down = false;
      await house.pass(6 * minute);
      expect(holds()).toBe(false);
      expect(await rowsOf(cast as Cast)).toEqual([{ ...before, state: 'absent' }]);
    });

    it('are taken over by a new request for the same access', async () => {
      const { house, ada } = await open();
      await ask(house, ada, automatic);
      const [before] = await rowsOf(cast as Cast);
      await makeUnpinned(house, { due: false });
      const id = await ask(house, ada, automatic);
      expect(await rowsOf(cast as Cast)).toEqual([before]);
      expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    });

    it('stay one row when a request and the reconciler pin them at once', async () => {
      const { house, ada } = await open();
      await ask(house, ada, { ...automatic, duration: 'PT8H' });
      const [before] = await rowsOf(cast as Cast);
      for (let round = 0; round < 12; round += 1) {
        await makeUnpinned(house);
        const executionId = await request(ada, automatic);
        const [step] = await house.database.sql`select key from steps where execution_id = ${executionId}`;
        expect(step).toBeDefined();
        await Promise.all([
          reconcileEntitlement(house.ctx, { entitlementId: before?.id as string }),
          house.work(),
          reconcileEntitlement(house.ctx, { entitlementId: before?.id as string }),
        ]);
        await house.pass(2 * second);
        expect((await getExecution(ada, { id: executionId })).grants).toMatchObject([{ state: 'active' }]);
        expect(await rowsOf(cast as Cast)).toMatchObject([{ id: before?.id, key: before?.key, target: 'memory' }]);
      }
    });

    it('are called by their names, and the log says so, when the names mean nothing any more', async () => {
      const { house, ada } = await open();
      await ask(house, ada, { ...automatic, duration: 'PT10M' });
      await makeUnpinned(house);
      house.provider.options.people = [];
      await house.pass(11 * minute);
      expect(lines).toContainEqual(expect.stringContaining('no longer knows the names'));
      expect(holds()).toBe(false);
      await runOut(house);
      expect(await rowsOf(cast as Cast)).toMatchObject([{ target: null, state: 'absent' }]);
    });
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
