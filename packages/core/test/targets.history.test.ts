import { appendFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { AccessError } from '@belay/contract/errors';
import {
  auditDrift,
  beginRestore,
  getExecution,
  readHealth,
  readMetrics,
  returnAccess,
  standByHeld,
} from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import postgres from 'postgres';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Fifteen,
  hasFifteen,
  makeFifteenFolder,
  runFifteen,
  startFifteen,
} from '../../providers/test/postgres/fifteen.js';
import { ask, type Cast, catalogWith, minute, openCast, runOut, second } from './support/stories.js';
import { openSwitch, type Switch } from './support/switch.js';

const automatic = { workflow: 'automatic', duration: 'PT10M' };

/**
 * The provider `shop` is a real server, behind an address that can lead to a standby, to a copy of its files, or to a server that was
 * restored from one.
 */
describe.skipIf(!hasFifteen())('only the server with the history of the target settles anything (R7)', () => {
  let cast: Cast;
  let primary: Fifteen;
  let address: Switch;
  let later = 0;
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    for (const close of closing.splice(0).reverse()) await close();
    later = 0;
  });

  async function open() {
    const folder = makeFifteenFolder();
    primary = await start(path.join(folder, 'data'));
    const admin = connect(primary);
    await admin.unsafe(`
      create role connector login createrole; grant pg_signal_backend to connector; create role reading; create role ada login`);
    address = await openSwitch(portOf(primary));
    closing.push(() => address.close());
    cast = await openCast({ catalog: at(address.port), connectors: [postgresConnector as Connector] });
    return cast;
  }
  const start = async (data: string, ...settings: string[]) => {
    const server = await startFifteen({ data, settings: ['wal_level=replica', ...settings] });
    closing.push(() => server.stop());
    return server;
  };
  const connect = ({ url }: Fifteen) => {
    const sql = postgres(url, { max: 1, onnotice: () => {}, fetch_types: false });
    closing.push(() => sql.end({ timeout: 1 }));
    return sql;
  };
  const portOf = ({ url }: Fifteen) => Number(new URL(url).port);
  const at = (port: number, parameters = '') => {
    const base = catalogWith({}) as { providers: object };
    const url = `postgres://connector@127.0.0.1:${port}/postgres${parameters}`;
    const config = { url, identity: { table: { 'ada@example.com': 'ada' } }, accept_objects_left_behind: true };
    return {
      ...base,
      ...catalogWith({}, { providers: ['shop'], inherits: ['shop:reading'] }),
      providers: { ...base.providers, shop: { provider: 'postgres', config } },
    };
  };
  /** Copies the running primary, and returns the folder of the copy. */
  const copy = (...options: string[]) => {
    const data = path.join(makeFifteenFolder(), 'data');
    const { port } = new URL(primary.url);
    runFifteen('pg_basebackup', [
      '-h',
      '127.0.0.1',
      '-p',
      port,
      '-U',
      'postgres',
      '-D',
      data,
      '-c',
      'fast',
      ...options,
    ]);
    if (!existsSync(data)) throw new Error('The copy was not made');
    return data;
  };
  const isHeld = async (server: Fifteen) =>
    (await connect(server)`select from pg_auth_members where roleid = 'reading'::regrole and member = 'ada'::regrole`)
      .length > 0;
  const rows = () => cast.house.database.sql`select state, elsewhere, last_error from entitlements`;
  const health = async () =>
    (await readHealth(cast.house.ctx, { path: '/health', scheduler: async () => 'healthy' })).services.workflow_engine;
  const alarms = async () =>
    (await readMetrics(cast.house.ctx, { uptimeMilliseconds: 1, requests: 1 })).overdue_revocations;
  /** Runs a round of the worker that stands by, a while later. */
  const standBy = async (milliseconds = 0) => {
    later += milliseconds;
    await cast.house.database.advance(milliseconds);
    const ctx = { ...cast.house.ctx, clock: () => new Date(cast.house.ctx.clock().getTime() + later) };
    const { finished } = await standByHeld(ctx, new AbortController().signal);
    await finished;
  };
  const marks = () => cast.house.database.sql`select mark, next_mark, doubt from targets`;

  it('a standby behind the address settles nothing, and raises the alarm at once', async () => {
    const { house, ada } = await open();
    const standby = await start(copy(), 'hot_standby=on');
    // A copy becomes a standby by this file. It never learns of the grant, because it follows no server.
    const data = copy();
    appendFileSync(path.join(data, 'standby.signal'), '');
    await standby.stop();
    const behind = await start(data, 'hot_standby=on');
    const id = await ask(house, ada, automatic);
    expect([await isHeld(primary), await isHeld(behind)]).toEqual([true, false]);
    address.lead(portOf(behind));
    await returnAccess(ada, { execution_id: id });
    await house.work();
    for (let hour = 0; hour < 3; hour += 1) await house.pass(60 * minute);
    expect(await rows()).toMatchObject([
      { state: 'revoking', elsewhere: true, last_error: expect.stringContaining('is a standby') },
    ]);
    expect([await alarms(), await health()]).toEqual([1, expect.stringContaining('another target')]);
    expect(await isHeld(primary)).toBe(true);
    address.lead(portOf(primary));
    await runOut(house);
    expect(await isHeld(primary)).toBe(false);
    expect([(await rows())[0]?.state, await health()]).toEqual(['absent', 'healthy']);
  });

  it('a copy from before the last mark settles nothing, also when it has gone on since', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    expect(await isHeld(primary)).toBe(true);
    const clone = await start(copy());
    await standBy(2 * minute);
    await connect(clone).unsafe(
      'create table filler as select * from generate_series(1, 200000); checkpoint; select pg_switch_wal()',
    );
    address.lead(portOf(clone));
    await returnAccess(ada, { execution_id: id });
    await house.work();
    await house.pass(60 * minute);
    expect(await rows()).toMatchObject([
      { state: 'revoking', elsewhere: true, last_error: expect.stringContaining('earlier mark') },
    ]);
    expect([await isHeld(primary), await isHeld(clone)]).toEqual([true, true]);
    address.lead(portOf(primary));
    await runOut(house);
    expect([await isHeld(primary), (await rows())[0]?.state]).toEqual([false, 'absent']);
  });

  it('a server that was restored to before the grant settles nothing, and grants nothing', async () => {
    const { house, ada } = await open();
    const first = await ask(house, ada, automatic);
    await returnAccess(ada, { execution_id: first });
    await runOut(house);
    const restored = copy();
    const id = await ask(house, ada, automatic);
    expect(await isHeld(primary)).toBe(true);
    await connect(primary).unsafe('select pg_switch_wal()');
    await returnAccess(ada, { execution_id: id });
    const server = await start(restored);
    address.lead(portOf(server));
    await house.work();
    expect(await rows()).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    const again = await ask(house, ada, automatic);
    expect((await getExecution(ada, { id: again })).grants.map(({ state }) => state)).not.toContain('active');
    expect([await isHeld(primary), await isHeld(server)]).toEqual([true, false]);
  });

  it('a new address of a copy is rejected while access is held, and a new address of the server is accepted', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    const clone = await start(copy());
    await standBy(2 * minute);
    const refusal = await house.applyCatalog(at(portOf(clone))).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AccessError);
    expect((refusal as AccessError).issues).toMatchObject([
      {
        path: 'providers.shop.config',
        message: expect.stringMatching(/new address whose server .*earlier mark.*ada until/),
      },
    ]);
    await house.applyCatalog(at(portOf(primary)));
    await runOut(house);
    expect(await isHeld(primary)).toBe(false);
  });

  it('one call that reaches two servers settles nothing', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    // Both servers have the last mark, and the copy has everything that the row had.
    const clone = await start(copy());
    await connect(clone).unsafe('revoke reading from ada');
    // Like a balancer: of the two connections of the provider, which its transactions take in turns, one leads to each server.
    address.balance([portOf(primary), portOf(clone)]);
    const client = house.catalog.client('shop');
    // The pool notices only now that its connections have ended.
    const call = () => client?.check(AbortSignal.timeout(minute));
    await expect
      .poll(() =>
        Promise.all([call(), call()]).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await house.pass(11 * minute);
    expect(await rows()).toMatchObject([
      { state: 'revoking', elsewhere: true, last_error: expect.stringContaining('another one than') },
    ]);
    address.lead(portOf(primary));
    await runOut(house);
    expect(await isHeld(primary)).toBe(false);
  });

  it('goes on at a promoted standby that has the mark, and compares what changed since, also what is gone', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    await standBy(2 * minute);
    const data = copy('-R');
    await returnAccess(ada, { execution_id: id });
    await house.pass(second);
    await house.pass(16 * minute);
    expect([(await rows())[0]?.state, await isHeld(primary)]).toEqual(['absent', false]);
    // The revocation was not replicated.
    await primary.crash();
    const promoted = await start(data, 'primary_conninfo=');
    expect(await isHeld(promoted)).toBe(true);
    await connect(promoted)`select pg_promote()`;
    address.lead(portOf(promoted));
    await house.database.advance(3 * 60 * minute);
    await auditDrift(house.ctx, new AbortController().signal);
    await house.database.advance(3 * 60 * minute);
    await auditDrift(house.ctx, new AbortController().signal);
    await runOut(house);
    expect([(await rows())[0]?.state, await isHeld(promoted), await health()]).toEqual(['absent', false, 'healthy']);
    expect(await house.database.sql`select message from ledger where type = 'target.forked'`).toHaveLength(1);
  });

  it('does not go on at a promoted standby without the last mark', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    const data = copy('-R');
    await standBy(2 * minute);
    await primary.crash();
    const promoted = await start(data, 'primary_conninfo=');
    await connect(promoted)`select pg_promote()`;
    address.lead(portOf(promoted));
    await returnAccess(ada, { execution_id: id });
    await house.pass(minute);
    expect(await rows()).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    expect([await isHeld(promoted), await alarms()]).toEqual([true, 1]);
  });

  it('settles nothing for a database of Belay that does not know the mark, until an operator begins a restore', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, automatic);
    const [backup] = await marks();
    await standBy(2 * minute);
    // As in a backup of Belay's database from before the last mark.
    await house.database.sql`update targets set mark = ${String(backup?.mark)}`;
    await returnAccess(ada, { execution_id: id });
    await house.pass(second);
    expect(await rows()).toMatchObject([
      { state: 'revoking', elsewhere: true, last_error: expect.stringContaining('did not write') },
    ]);
    expect(await isHeld(primary)).toBe(true);
    await beginRestore(house.operator(), { reason: 'the disk failed' });
    await runOut(house);
    expect([await isHeld(primary), (await rows())[0]?.state]).toEqual([false, 'absent']);
  });

  it('is marked by the connector with no more rights than it has', async () => {
    const { house, ada } = await open();
    await ask(house, ada, automatic);
    const [first] = await marks();
    expect(first).toMatchObject({ mark: expect.stringMatching(/^1\./), next_mark: null, doubt: null });
    await standBy(2 * minute);
    const [next] = await marks();
    expect(next).toMatchObject({ mark: expect.stringMatching(/^2\./), next_mark: null, doubt: null });
    const setting = await connect(
      primary,
    )`select setconfig::text as mark from pg_db_role_setting where setrole = 'connector'::regrole`;
    expect(setting[0]?.mark).toContain(String(next?.mark));
    await runOut(house);
  });
});
