import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../server/test/demo/test-server.js';
import { demoPeople } from '../src/people.js';
import { prepareDemoTarget } from '../src/prepare-target.js';

let server: TestServer;
const passwords = Object.fromEntries(demoPeople.map(({ subject }) => [subject, randomBytes(8).toString('hex')]));
const options = () => ({ url: server.url('postgres'), connectorPassword: 'connector', passwords });

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function ask(url: string, statement: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, fetch_types: false });
  try {
    return await sql.unsafe(statement);
  } catch (error) {
    return (error as { code?: string }).code;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

describe('the target of the demo', () => {
  it('lets a person connect and read nothing, and the connector hand on the one role that may', async () => {
    const target = await prepareDemoTarget(options());
    const rita = target.personUrls['demo-rita'] ?? '';
    const read = 'select count(*)::int as rows from reporting.revenue';
    expect(await ask(rita, read)).toBe('42501');
    await ask(target.connectorUrl, 'grant reporting_readonly to rita');
    expect(await ask(rita, read)).toEqual([{ rows: 6 }]);
    await ask(target.connectorUrl, 'revoke reporting_readonly from rita');
    expect(await ask(rita, read)).toBe('42501');
  });

  it('gives the connector nothing else: it reads no data, makes no role and hands on no other', async () => {
    const { connectorUrl } = await prepareDemoTarget(options());
    expect(await ask(connectorUrl, 'select * from reporting.revenue')).toBe('42501');
    expect(await ask(connectorUrl, 'create role intruder')).toBe('42501');
    expect(await ask(connectorUrl, 'grant pg_read_all_data to rita')).toBe('42501');
    expect(await ask(connectorUrl, 'grant belay_demo_owner to rita')).toBe('42501');
  });

  it('leaves room on the server when a person opens all the connections they can', async () => {
    const target = await prepareDemoTarget(options());
    const filling = Array.from({ length: 120 }, () =>
      postgres(target.personUrls['demo-rita'] ?? '', { max: 1, onnotice: () => {}, fetch_types: false }),
    );
    const opened = await Promise.allSettled(filling.map((sql) => sql`select 1`));
    expect(opened.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(await ask(target.connectorUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
    await Promise.all(filling.map((sql) => sql.end({ timeout: 0 })));
  });

  it('lets the connector end the sessions of a person', async () => {
    const target = await prepareDemoTarget(options());
    const open = postgres(target.personUrls['demo-rita'] ?? '', { max: 1, onnotice: () => {}, fetch_types: false });
    const [{ pid } = { pid: 0 }] = await open<{ pid: number }[]>`select pg_backend_pid() as pid`;
    expect(await ask(target.connectorUrl, `select pg_terminate_backend(${pid}, 2000) as ended`)).toEqual([
      { ended: true },
    ]);
    await open.end({ timeout: 1 });
  });

  it('can be prepared again while a holder keeps a cursor open', async () => {
    const target = await prepareDemoTarget(options());
    await ask(target.connectorUrl, 'grant reporting_readonly to rita');
    const holder = postgres(target.personUrls['demo-rita'] ?? '', { max: 1, onnotice: () => {}, fetch_types: false });
    await holder.unsafe('begin; declare kept cursor for select * from reporting.revenue');
    try {
      await prepareDemoTarget(options());
    } finally {
      await holder.end({ timeout: 0 });
      await ask(target.connectorUrl, 'revoke reporting_readonly from rita');
    }
  });

  it('can be prepared again, by several processes at once', async () => {
    const prepared = await Promise.all([1, 2, 3].map(() => prepareDemoTarget(options())));
    expect(new Set(prepared.map((target) => target.connectorUrl)).size).toBe(1);
    expect(await ask(prepared[0]?.personUrls['demo-bea'] ?? '', 'select current_user::text as name')).toEqual([
      { name: 'bea' },
    ]);
  });
});

describe('a server without the demo', () => {
  // Resets the server to its state before the tests above, because a second server would take a third of the time of this file.
  beforeAll(async () => {
    const roles = ['rita', 'adam', 'bea', 'reporting_readonly', 'belay_demo_owner', 'belay_demo_connector'];
    const sql = postgres(server.url('postgres'), { max: 1, onnotice: () => {} });
    await sql.unsafe('drop database if exists belay_demo_target with (force)');
    await sql.unsafe(`drop role if exists ${roles.join(', ')}`);
    await sql.unsafe('drop table if exists public.turn_demo_target');
    const left = await sql`select rolname from pg_roles where rolname !~ '^pg_'`;
    await sql.end();
    expect(left).toHaveLength(1);
  });

  it('is rejected, on one line, for a user without the privilege, and for roles that are not the demo’s', async () => {
    await ask(server.url('postgres'), `create role nobody_much login password 'x'`);
    const url = server.url('postgres').replace(/\/\/[^@]*@/, '//nobody_much:x@');
    await expect(prepareDemoTarget({ ...options(), url })).rejects.toThrow(
      'needs a DATABASE_URL whose user may create',
    );
    await ask(server.url('postgres'), 'create role rita login');
    await expect(prepareDemoTarget({ ...options(), url: server.url('postgres') })).rejects.toThrow(
      'already has a role "rita"',
    );
    // Remove the role and the table of the rejected start before the next test.
    await ask(server.url('postgres'), 'drop role rita; drop table public.turn_demo_target');
  });

  it('can be prepared by a user who is no superuser but may create databases and roles', async () => {
    await ask(server.url('postgres'), `create role maker login createdb createrole password 'maker'`);
    // A start needs this privilege for its own tables as well.
    await ask(server.url('postgres'), 'grant create on schema public to maker');
    const url = server.url('postgres').replace(/\/\/[^@]*@/, '//maker:maker@');
    const target = await prepareDemoTarget({ ...options(), url });
    await prepareDemoTarget({ ...options(), url });
    const rita = target.personUrls['demo-rita'] ?? '';
    expect(await ask(rita, 'select * from reporting.revenue')).toBe('42501');
    await ask(target.connectorUrl, 'grant reporting_readonly to rita');
    expect(await ask(rita, 'select count(*)::int as rows from reporting.revenue')).toEqual([{ rows: 6 }]);
    const open = postgres(rita, { max: 1, onnotice: () => {}, fetch_types: false });
    const [{ pid } = { pid: 0 }] = await open<{ pid: number }[]>`select pg_backend_pid() as pid`;
    expect(await ask(target.connectorUrl, `select pg_terminate_backend(${pid}, 2000) as ended`)).toEqual([
      { ended: true },
    ]);
    await open.end({ timeout: 1 });
  });
});
