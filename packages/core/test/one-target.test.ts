import { auditDrift, getExecution, returnAccess } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { afterEach, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { ask, type Cast, catalogWith, minute, openCast, runOut } from './support/stories.js';

const automatic = { workflow: 'automatic', duration: 'PT10M' };

/** `orders` and `billing` are databases of one server, whose roles and their members belong to both. */
describe('two providers that lead to one PostgreSQL server', () => {
  let cast: Cast | undefined;
  let server: TestServer;
  let other: TestServer;
  let names: { role: string; login: string };
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    for (const close of closing.splice(0).reverse()) await close();
    cast = undefined;
  });

  async function open() {
    server = await openTestServer();
    closing.push(() => server.close());
    other = await openTestServer();
    closing.push(() => other.close());
    names = { role: await server.role(), login: (await server.login()).name };
    cast = await openCast({ catalog: catalog(), connectors: [postgresConnector as Connector] });
    return cast;
  }

  function catalog() {
    const identity = { table: { 'ada@example.com': names.login } };
    const at = (url: string) => ({ provider: 'postgres', config: { url, identity } });
    const base = catalogWith({}) as { providers: object; roles: { reader: object } };
    const roleAt = (...providers: string[]) => ({
      ...base.roles.reader,
      providers,
      inherits: providers.map((provider) => `${provider}:${names.role}`),
    });
    return {
      ...base,
      providers: { ...base.providers, orders: at(server.url()), billing: at(other.url()) },
      roles: {
        reads_orders: roleAt('orders'),
        reads_billing: roleAt('billing'),
        reads_both: roleAt('orders', 'billing'),
      },
    };
  }

  const isHeld = async () =>
    (
      await server.admin`select from pg_auth_members m join pg_roles r on r.oid = m.roleid where r.rolname = ${names.role}`
    ).length > 0;
  const of = async ({ ada }: Cast, id: string) => {
    const { status, error, grants } = await getExecution(ada, { id });
    return { status, error, held: grants.map(({ provider, state }) => `${provider} ${state}`) };
  };
  const rows = ({ house }: Cast) => house.database.sql`select provider, state from entitlements order by provider`;
  const refused = {
    status: 'faulted',
    held: [],
    error: {
      status: 409,
      detail: expect.stringMatching(
        /^"billing" leads to the same target as "orders", or to a copy of it, .*"orders": request/,
      ),
    },
  };

  it('access is held through one of them at a time, and its end takes nothing from the other', async () => {
    const story = await open();
    const { house, ada } = story;
    const first = await ask(house, ada, { ...automatic, role: 'reads_orders' });
    expect(await of(story, first)).toMatchObject({ held: ['orders active'] });
    const second = await ask(house, ada, { ...automatic, role: 'reads_billing' });
    expect(await of(story, second)).toMatchObject(refused);
    await returnAccess(ada, { execution_id: first });
    await house.work();
    expect(await isHeld()).toBe(false);
    const third = await ask(house, ada, { ...automatic, role: 'reads_billing' });
    expect(await of(story, third)).toMatchObject({ held: ['billing active'] });
    expect(await isHeld()).toBe(true);
    expect([...(await rows(story))]).toEqual([{ provider: 'billing', state: 'granted' }]);
    expect(await of(story, first)).toMatchObject({ held: [expect.stringMatching(/^orders /)] });
    await runOut(house);
    expect(await isHeld()).toBe(false);
  });

  it('a role that names the same access at both is rejected', async () => {
    const story = await open();
    const id = await ask(story.house, story.ada, { ...automatic, role: 'reads_both' });
    expect(await of(story, id)).toMatchObject(refused);
    expect(await isHeld()).toBe(false);
  });

  it('the drift audit of one does not tell the access of the other', async () => {
    const story = await open();
    const { house, ada } = story;
    await ask(house, ada, { ...automatic, duration: 'PT8H', role: 'reads_orders' });
    const signal = new AbortController().signal;
    const audited = [];
    await auditDrift(house.ctx, signal);
    await house.pass(61 * minute);
    for (let next = await auditDrift(house.ctx, signal); next; next = await auditDrift(house.ctx, signal))
      audited.push(next);
    expect(audited.sort()).toEqual(expect.arrayContaining(['billing', 'orders']));
    expect([
      ...(await house.database
        .sql`select message from ledger where type = 'drift.found' and message like ${`%${names.login}%`}`),
    ]).toEqual([]);
    await runOut(house);
  });
});
