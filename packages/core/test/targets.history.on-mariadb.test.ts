import { readHealth, returnAccess } from '@belay/core';
import { type Connector, mysqlConnector } from '@belay/providers';
import { afterEach, describe, expect, it } from 'vitest';
import { canRead, type Login, type MysqlServer, openServer } from '../../providers/test/mysql/server.js';
import { ask, type Cast, catalogWith, minute, openCast, runOut } from './support/stories.js';
import { openSwitch, type Switch } from './support/switch.js';

const automatic = { workflow: 'automatic', duration: 'PT10M' };

/** The provider `shop` is a real MariaDB, behind an address that can lead to a copy of it. */
describe('only the MariaDB with the history of the target settles anything (R7)', () => {
  let cast: Cast;
  let primary: MysqlServer;
  let copy: MysqlServer;
  let address: Switch;
  let login: Login;
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    for (const close of closing.splice(0).reverse()) await close();
  });

  /** Opens both servers with the same accounts and the same identifier, as they are after a copy. */
  async function open() {
    primary = await openServer(['--log-bin', '--server-id=1', '--binlog-format=ROW']);
    closing.push(() => primary.close());
    copy = await openServer(['--log-bin', '--server-id=2', '--binlog-format=ROW']);
    closing.push(() => copy.close());
    const [[target]] = (await primary.admin.query('select id from belay.target')) as unknown as [[{ id: string }]];
    await copy.admin.query('update belay.target set id = ?', [target.id]);
    for (const server of [primary, copy]) await server.role('reading');
    login = await primary.login('ada');
    await copy.login('ada');
    address = await openSwitch(primary.target.port);
    closing.push(() => address.close());
    const base = catalogWith({}) as { providers: object };
    const url = `mysql://belay:${primary.password}@127.0.0.1:${address.port}/belay`;
    const shop = { provider: 'mysql', config: { url, email_domains: ['example.com'] } };
    cast = await openCast({
      catalog: {
        ...base,
        ...catalogWith({}, { providers: ['shop'], inherits: ['shop:reading'] }),
        providers: { ...base.providers, shop },
      },
      connectors: [mysqlConnector as Connector],
    });
    return cast;
  }
  const isHeld = () => canRead(login, 'reading');
  const rows = async () => [...(await cast.house.database.sql`select state, elsewhere, last_error from entitlements`)];
  const health = async () =>
    (await readHealth(cast.house.ctx, { path: '/health', scheduler: async () => 'healthy' })).services.workflow_engine;

  it("a copy without Belay's mark settles nothing, and the revocation follows at the server", async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    expect(await isHeld()).toBe(true);
    address.lead(copy.target.port);
    await returnAccess(ada, { execution_id: id });
    await house.work();
    for (let step = 0; step < 5; step += 1) await house.pass(minute);
    expect(await rows()).toMatchObject([
      { state: 'revoking', elsewhere: true, last_error: expect.stringContaining("none of Belay's marks") },
    ]);
    expect(await health()).toMatch(/^degraded/);
    expect(await isHeld()).toBe(true);
    address.lead(primary.target.port);
    await runOut(house);
    expect(await isHeld()).toBe(false);
    expect(await rows()).toMatchObject([{ state: 'absent', elsewhere: false }]);
  });

  it('a copy with the mark that lacks transactions settles nothing', async () => {
    const { house, ada } = await open();
    for (let more = 0; more < 20; more += 1) await primary.admin.query(`create table app.t${more} (id int)`);
    const id = await ask(house, ada, automatic);
    const [[written]] = (await primary.admin.query('select account, mark from belay.mark')) as unknown as [
      [{ account: string; mark: string }],
    ];
    await copy.admin.query('insert into belay.mark (account, mark) values (?, ?)', [written.account, written.mark]);
    address.lead(copy.target.port);
    await returnAccess(ada, { execution_id: id });
    await house.work();
    await house.pass(minute);
    expect(await rows()).toMatchObject([
      { state: 'revoking', elsewhere: true, last_error: expect.stringContaining('lacks something that it had before') },
    ]);
    expect(await isHeld()).toBe(true);
  });

  it("a copy of Belay's own database neither grants nor settles where the other one has renewed the mark", async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    expect(await isHeld()).toBe(true);
    await primary.admin.query("update belay.mark set mark = '900.of-another-database'");
    await returnAccess(ada, { execution_id: id });
    await house.work();
    await house.pass(minute);
    expect(await rows()).toMatchObject([
      {
        state: 'revoking',
        elsewhere: true,
        last_error: expect.stringContaining("a mark that this database of Belay's did not write"),
      },
    ]);
    expect(await isHeld()).toBe(true);
  });
});
