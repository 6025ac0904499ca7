import { AccessError } from '@belay/contract/errors';
import { applyCatalog, getExecution, listInbox, openCatalog, readHealth, readMetrics, returnAccess } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { withLogin } from '@belay/testkit/house';
import postgres from 'postgres';
import { afterEach, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { access, approve, ask, type Cast, catalogWith, minute, openCast, runOut, second } from './support/stories.js';

const NOT_APPROVED = 'https://belay.dev/errors/not-approved';
const automatic = { workflow: 'automatic', duration: 'PT10M' };

/** The provider `shop` is a database of a real server; a second database is on the same server. */
describe('access stays where it was approved and granted (R7)', () => {
  let cast: Cast | undefined;
  let first: TestServer;
  let other: TestServer;
  let names: { role: string; login: string };
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    for (const close of closing.splice(0).reverse()) await close();
    cast = undefined;
  });

  async function open() {
    first = await openTestServer();
    closing.push(() => first.close());
    other = await openTestServer();
    closing.push(() => other.close());
    names = { role: await first.role(), login: (await first.login()).name };
    cast = await openCast({ catalog: at(first.url()), connectors: [postgresConnector as Connector] });
    return cast;
  }
  const at = (url: string, more: object = {}) => {
    const base = catalogWith({}) as { providers: object };
    const config = { url, identity: { table: { 'ada@example.com': names.login } } };
    return {
      ...base,
      ...catalogWith({}, { providers: ['shop'], inherits: [`shop:${names.role}`] }),
      providers: { ...base.providers, shop: { provider: 'postgres', config, ...more } },
    };
  };
  const isHeld = async () =>
    (
      await first.admin`select from pg_auth_members m join pg_roles r on r.oid = m.roleid where r.rolname = ${names.role}`
    ).length > 0;
  const refusalOf = async (work: Promise<unknown>) => {
    const refusal = await work.catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AccessError);
    return (refusal as AccessError).issues ?? [];
  };
  const places = ({ house }: Cast) => house.database.sql`select target, address, state, elsewhere from entitlements`;
  const health = async ({ house }: Cast) =>
    (await readHealth(house.ctx, { path: '/health', scheduler: async () => 'healthy' })).services.workflow_engine;

  it('rejects a configuration that moves a provider while access is held there, and says what is held', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    expect(await isHeld()).toBe(true);
    const [issue] = await refusalOf(house.applyCatalog(at(other.url())));
    expect(issue).toMatchObject({
      path: 'providers.shop.config',
      message: expect.stringMatching(
        `another target .* Access held: ${names.role} by ${names.login} until 2026-03-01T10:10`,
      ),
    });
    expect(house.catalog.current().providers.get('shop')?.config).toMatchObject({ url: first.url() });
    // It may move when nothing is held there.
    await runOut(house);
    expect(await isHeld()).toBe(false);
    await house.applyCatalog(at(other.url()));
  });

  it('rejects a request that would be approved and not granted, before an approver is asked', async () => {
    const { house, ada, grace } = await open();
    const url = new URL(first.url());
    [url.username, url.password] = [`connector_${names.role}`, 'secret'];
    await first.admin.unsafe(`create role "${url.username}" login createrole password 'secret'`);
    closing.push(() => first.admin.unsafe(`drop role "${url.username}"`));
    await house.applyCatalog(at(url.href));
    const refusal = await ask(house, ada, automatic).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: 'conflict',
      message: '"shop" would not grant this access; the log and "belay doctor" tell an operator why',
    });
    expect([(await listInbox(grace)).total, await isHeld()]).toEqual([0, false]);
    await first.admin.unsafe(`grant ${names.role} to "${url.username}" with admin true, inherit false, set false`);
    await ask(house, ada, automatic);
    expect(await isHeld()).toBe(true);
    await runOut(house);
    await first.admin.unsafe(`revoke ${names.role} from "${url.username}"`);
  });

  it('accepts another name of the same place, and a new password of a place that is down', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    const moved = new URL(first.url());
    moved.search = '?application_name=other';
    await house.applyCatalog(at(moved.href));
    expect(house.catalog.current().providers.get('shop')?.config).toMatchObject({ url: moved.href });
    // The target is remembered, so that a rotation makes no call, not even to a database that would reject this user.
    moved.password = 'a-new-one';
    moved.username = 'does_not_exist';
    await house.applyCatalog(at(moved.href));
    moved.search = '?application_name=third';
    const [issue] = await refusalOf(house.applyCatalog(at(moved.href)));
    expect(issue).toMatchObject({
      path: 'providers.shop.config',
      message: expect.stringMatching(/whose target cannot be read \(.*credentials.*\), while access is held/),
    });
    await house.applyCatalog(at(first.url()));
    await runOut(house);
  });

  it('rejects a configuration without which nothing could be revoked any more', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    const off = at('${' + 'env:GONE}', { enabled: false });
    expect(await refusalOf(house.applyCatalog(off))).toMatchObject([{ path: 'providers.shop.config' }]);
    await runOut(house);
    await house.applyCatalog(off);
  });

  it('rejects the same document when this process reads another address out of its environment', async () => {
    const { house, ada } = await open();
    const document = withLogin(at('${' + 'env:TARGET}'));
    const { connectors } = house;
    const apply = (url: string) =>
      applyCatalog(house.database.db, { document, source: 'test' }, { connectors, resolve: () => url });
    await apply(first.url());
    const options = {
      db: house.database.db,
      connectors,
      log: house.ctx.log,
      timing: house.ctx.timing,
      delay: house.ctx.delay,
      now: Date.now,
    };
    const right = await openCatalog({ ...options, resolve: () => first.url() });
    closing.push(() => right.close());
    Object.assign(house.ctx, { catalog: right });
    await ask(house, { ...ada, catalog: right }, automatic);
    expect(await isHeld()).toBe(true);
    expect(await refusalOf(apply(other.url()))).toMatchObject([{ path: 'providers.shop.config' }]);
    await expect(openCatalog({ ...options, resolve: () => other.url() })).rejects.toThrow(/another target/);
    // The secrets of a running process change: it keeps its configuration.
    let url = first.url();
    const running = await openCatalog({ ...options, resolve: () => url });
    closing.push(() => running.close());
    url = other.url();
    await expect(running.refresh({ reread: true })).rejects.toThrow(/another target/);
    expect(running.current().providers.get('shop')?.config).toMatchObject({ url: first.url() });
    await runOut(house);
  });

  it('grants nothing at another target than the one that was approved', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada, { workflow: 'approved' });
    const [item] = (await listInbox(grace)).approvals;
    const [row] = await first.admin`select c.system_identifier || '/' || d.oid as target
      from pg_control_system() c, pg_database d where d.datname = current_database()`;
    expect(item?.grants).toMatchObject([{ provider: 'shop', target: row?.target }]);
    await house.applyCatalog(at(other.url()));
    await approve(grace, id);
    await house.work();
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'faulted',
      error: { type: NOT_APPROVED, detail: expect.stringContaining('shop now leads to another target') },
      grants: [],
    });
    expect(await isHeld()).toBe(false);
  });

  it('raises an alarm at once when an address leads elsewhere below us, and revokes when it leads back', async () => {
    cast = await openCast({ catalog: catalogWith({}) });
    const { house, ada } = cast;
    const id = await ask(house, ada, automatic);
    const holds = () => house.provider.holds('ada@example.com', access);
    house.provider.targets.set('memory', 'another');
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect(holds()).toBe(true);
    expect(await places(cast)).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    expect(await health(cast)).toBe('degraded: 1 entitlements at providers whose address now leads to another target');
    expect(await readMetrics(house.ctx, { uptimeMilliseconds: 1, requests: 1 })).toMatchObject({
      overdue_revocations: 1,
    });
    const errors = await house.database.sql`
      select message from ledger where type = 'entitlement.revoke_failed' and level = 'error'`;
    expect(errors[0]?.message).toMatch(/another target/);
    // An unreachable other target does not end this state either.
    house.provider.down = true;
    for (let hour = 0; hour < 5; hour += 1) await house.pass(60 * minute);
    house.provider.down = false;
    await house.pass(60 * minute);
    expect(await places(cast)).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    house.provider.targets.clear();
    for (let later = 0; later < 4; later += 1) await house.pass(10 * minute);
    expect(holds()).toBe(false);
    expect(await places(cast)).toMatchObject([{ state: 'absent', elsewhere: false }]);
    expect(await health(cast)).toBe('healthy');
  });

  it('takes nothing for revoked at another database, and revokes when the address leads back to the first', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    // Like a DNS name that moved: the same configuration, with another server behind it. In this test only the name of the database
    // can move.
    const moved = await swapDatabases(first, other);
    await returnAccess(ada, { execution_id: id });
    await house.work();
    expect(await isHeld()).toBe(true);
    expect(await places(cast as Cast)).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    expect(await health(cast as Cast)).toBe(
      'degraded: 1 entitlements at providers whose address now leads to another target',
    );
    expect(await readMetrics(house.ctx, { uptimeMilliseconds: 1, requests: 1 })).toMatchObject({
      overdue_revocations: 1,
    });
    const errors = await house.database
      .sql`select message from ledger where type = 'entitlement.revoke_failed' and level = 'error'`;
    expect(errors[0]?.message).toMatch(/another target/);
    for (let hour = 0; hour < 5; hour += 1) await house.pass(60 * minute);
    expect(await places(cast as Cast)).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    await moved.back();
    for (let later = 0; later < 4; later += 1) await house.pass(10 * minute);
    expect(await isHeld()).toBe(false);
    expect(await places(cast as Cast)).toMatchObject([{ state: 'absent', elsewhere: false }]);
    expect(await health(cast as Cast)).toBe('healthy');
  });

  it('fails a grant that meets another target, and takes nothing for revoked there', async () => {
    cast = await openCast({ catalog: catalogWith({}) });
    const { house, ada } = cast;
    // The address leads elsewhere between the intent and the call.
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    const id = await ask(house, ada, automatic);
    house.provider.targets.set('memory', 'another');
    await house.pass(2 * second);
    expect(await getExecution(ada, { id })).toMatchObject({
      status: 'faulted',
      error: { detail: expect.stringContaining('another target') },
    });
    expect(await places(cast)).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    // A new request concerns the new target, and settles nothing of the old one.
    const again = await ask(house, ada, automatic);
    expect((await getExecution(ada, { id: again })).grants).toMatchObject([{ state: 'active' }]);
    expect(await places(cast)).toHaveLength(2);
  });

  it('never intends with a configuration that another process has just replaced', async () => {
    const { house, ada } = await open();
    const { connectors } = house;
    const options = { connectors, resolve: () => undefined };
    await applyCatalog(house.database.db, { document: withLogin(at(other.url())), source: 'another process' }, options);
    const id = await ask(house, ada, automatic);
    expect((await getExecution(ada, { id })).grants).toEqual([]);
    expect(await isHeld()).toBe(false);
    await house.catalog.refresh();
    await house.pass(minute);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    const [row] = await places(cast as Cast);
    const [there] = await other.admin`select oid::text from pg_database where datname = current_database()`;
    expect(row?.target).toMatch(new RegExp(`/${there?.oid}$`));
    await runOut(house);
  });
});

/** Swaps the names of two databases, like a DNS entry that is changed. */
async function swapDatabases(one: TestServer, other: TestServer): Promise<{ back(): Promise<void> }> {
  const root = postgres(new URL('/postgres', one.url()).href, { max: 1, onnotice: () => {} });
  const swap = async () => {
    // A pool that reconnects immediately would prevent the renaming.
    for (const { database } of [one, other]) await root.unsafe(`alter database ${database} allow_connections false`);
    await root`select pg_terminate_backend(pid) from pg_stat_activity where datname in (${one.database}, ${other.database})`;
    await root.unsafe(`alter database ${one.database} rename to swapped_${one.database}`);
    await root.unsafe(`alter database ${other.database} rename to ${one.database}`);
    await root.unsafe(`alter database swapped_${one.database} rename to ${other.database}`);
    for (const { database } of [one, other]) await root.unsafe(`alter database ${database} allow_connections true`);
  };
  await swap();
  return {
    async back() {
      await swap();
      await root.end({ timeout: 1 });
    },
  };
}
