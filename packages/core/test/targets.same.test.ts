import path from 'node:path';
import {
  confirmSameTarget,
  getExecution,
  listInbox,
  readHealth,
  readSameTarget,
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
  upgradeFifteen,
} from '../../providers/test/postgres/fifteen.js';
import { approve, ask, type Cast, catalogWith, minute, openCast, runOut } from './support/stories.js';
import { openSwitch, type Switch } from './support/switch.js';

const automatic = { workflow: 'automatic', duration: 'PT10M' };
const reason = 'pg_upgrade in the night';

describe.skipIf(!hasFifteen())('an administrator confirms a target that cannot be told (R7)', () => {
  let cast: Cast;
  let folder: string;
  let primary: Fifteen;
  let address: Switch;
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function open() {
    folder = makeFifteenFolder();
    primary = await start(path.join(folder, 'data'));
    await connect(primary).unsafe(`
      create role connector login createrole; grant pg_signal_backend to connector; create role reading; create role ada login;
      create role grace login`);
    address = await openSwitch(portOf(primary));
    closing.push(() => address.close());
    const url = `postgres://connector@127.0.0.1:${address.port}/postgres`;
    const table = { 'ada@example.com': 'ada', 'grace@example.com': 'grace' };
    const config = { url, identity: { table }, accept_objects_left_behind: true };
    const base = catalogWith({}) as { providers: object };
    const catalog = {
      ...base,
      ...catalogWith({}, { providers: ['shop'], inherits: ['shop:reading'] }),
      providers: { ...base.providers, shop: { provider: 'postgres', config } },
      access: { administrators: { users: ['ada@example.com', 'grace@example.com'] } },
    };
    cast = await openCast({ catalog, connectors: [postgresConnector as Connector] });
    return cast;
  }
  const start = async (data: string) => {
    const server = await startFifteen({ data, settings: ['wal_level=replica'] });
    closing.push(() => server.stop());
    return server;
  };
  const connect = ({ url }: Fifteen) => {
    const sql = postgres(url, { max: 1, onnotice: () => {}, fetch_types: false });
    closing.push(() => sql.end({ timeout: 1 }));
    return sql;
  };
  const portOf = ({ url }: Fifteen) => Number(new URL(url).port);
  const isHeld = async (server: Fifteen) =>
    (await connect(server)`select from pg_auth_members where roleid = 'reading'::regrole and member = 'ada'::regrole`)
      .length > 0;
  const rows = () => cast.house.database.sql`select state, elsewhere, last_error from entitlements`;
  const health = async () =>
    (await readHealth(cast.house.ctx, { path: '/health', scheduler: async () => 'healthy' })).services.workflow_engine;

  it('after an upgrade in place: shows the pairs, needs another person than a holder, and goes on', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada, automatic);
    const waiting = await ask(house, ada, { workflow: 'approved' });
    expect((await listInbox(grace)).approvals).toHaveLength(1);
    await primary.stop();
    const upgraded = await start(await upgradeFifteen(path.join(folder, 'data'), folder));
    address.lead(portOf(upgraded));
    await returnAccess(ada, { execution_id: id });
    await house.pass(minute);
    expect(await rows()).toMatchObject([{ state: 'revoking', elsewhere: true }]);
    expect(await isHeld(upgraded)).toBe(true);
    const shown = await readSameTarget(grace, { provider: 'shop' });
    expect(shown.held_at).not.toContain(shown.target);
    expect(shown.pairs).toMatchObject([{ identity: 'ada', access: { role: 'reading' }, same: true, ours: true }]);
    const act = { provider: 'shop', digest: shown.digest, reason };
    await expect(confirmSameTarget(ada, act)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(confirmSameTarget(grace, { ...act, digest: 'another' })).rejects.toMatchObject({ code: 'conflict' });
    await confirmSameTarget(grace, act);
    await runOut(house);
    expect([await isHeld(upgraded), (await rows())[0]?.state, await health()]).toEqual([false, 'absent', 'healthy']);
    const [entry] = await house.database.sql`select data from ledger where type = 'target.confirmed'`;
    expect(entry?.data).toMatchObject({ reason, by_name: false, target: shown.target, gives_up: shown.gives_up });
    // What was approved at the earlier fingerprint is not granted.
    await approve(grace, waiting).catch(() => {});
    await house.work();
    expect((await getExecution(ada, { id: waiting })).grants).toEqual([]);
    const again = await ask(house, ada, automatic);
    expect((await getExecution(ada, { id: again })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('after a dump and restore only by the names, because the identifiers are others', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada, automatic);
    const other = await start(path.join(makeFifteenFolder(), 'data'));
    await connect(other).unsafe(`
      create role filler; create role connector login createrole; grant pg_signal_backend to connector; create role reading;
      create role ada login; create role grace login`);
    await connect(other).unsafe('grant reading to ada granted by connector');
    address.lead(portOf(other));
    await returnAccess(ada, { execution_id: id });
    await house.pass(minute);
    const shown = await readSameTarget(grace, { provider: 'shop' });
    expect(shown.pairs).toMatchObject([{ same: false }]);
    const act = { provider: 'shop', digest: shown.digest, reason };
    await expect(confirmSameTarget(grace, act)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('reading of ada'),
    });
    await confirmSameTarget(grace, { ...act, by_name: true });
    await runOut(house);
    expect([await isHeld(other), (await rows())[0]?.state]).toEqual([false, 'absent']);
  });

  it('after a restore to an earlier time, and revokes what is recorded as gone and came back', async () => {
    const { house, ada, grace } = await open();
    const id = await ask(house, ada, automatic);
    const restored = path.join(makeFifteenFolder(), 'data');
    const { port } = new URL(primary.url);
    runFifteen('pg_basebackup', ['-h', '127.0.0.1', '-p', port, '-U', 'postgres', '-D', restored, '-c', 'fast']);
    await house.database.advance(2 * minute);
    const later = { ...house.ctx, clock: () => new Date(house.ctx.clock().getTime() + 2 * minute) };
    await (await standByHeld(later, new AbortController().signal)).finished;
    await returnAccess(ada, { execution_id: id });
    await runOut(house);
    expect([await isHeld(primary), (await rows())[0]?.state]).toEqual([false, 'absent']);
    const server = await start(restored);
    address.lead(portOf(server));
    expect(await isHeld(server)).toBe(true);
    const refused = await ask(house, ada, automatic);
    expect((await getExecution(ada, { id: refused })).grants).toEqual([]);
    const look = () => readSameTarget(grace, { provider: 'shop' });
    const act = { provider: 'shop', digest: (await look()).digest, reason };
    // The address leads to another server of this history after it was looked at.
    address.lead(portOf(primary));
    await expect.poll(() => confirmSameTarget(grace, act).catch(({ code }) => code)).toBe('conflict');
    address.lead(portOf(server));
    await expect.poll(() => look().catch(() => null)).toMatchObject({ digest: act.digest });
    await confirmSameTarget(grace, act);
    await runOut(house);
    expect([await isHeld(server), (await rows())[0]?.state]).toEqual([false, 'absent']);
  });
});
