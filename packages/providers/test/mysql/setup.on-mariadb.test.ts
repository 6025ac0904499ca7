import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { Retryable, Terminal } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { type MysqlServer, openServer, tryTo } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('the setup of MariaDB for Belay', () => {
  let server: MysqlServer;
  beforeAll(async () => {
    server = await openServer();
  });
  afterAll(() => server?.close());

  const sql = async (statement: string) => (await server.admin.query(statement))[0];
  const failure = async (work: Promise<unknown> | undefined) => {
    const error = await work?.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return error as Error;
  };
  const fresh = async () => {
    const [role, { identity }] = [await server.role(), await server.login()];
    return { id: `of-${role}`.replaceAll('_', '-'), identity, access: { role } };
  };

  it('is sound as the example has it', async () => {
    const client = await server.client();
    await client.check(calm());
    expect(await client.weaknesses?.(calm())).toEqual([]);
  });

  it('says before a grant which roles would not be granted, and grants the others', async () => {
    const client = await server.client();
    const [fine, privileged] = [await server.role(), await server.role()];
    await sql('create role not_administered');
    await sql(`grant process on *.* to ${privileged}`);
    const roles = [fine, 'no_such_role', 'not_administered', privileged];
    const told = await client.obstacles?.(
      roles.map((role) => ({ role })),
      calm(),
    );
    expect(told).toMatchObject([
      { access: { role: 'no_such_role' }, message: 'the role no_such_role does not exist' },
      { access: { role: 'not_administered' }, message: 'belay@% may not grant the role not_administered' },
      { access: { role: privileged }, message: expect.stringContaining('privileges on the whole server') },
    ]);
    const allowing = await server.client({ allow_privileged_roles: true });
    expect(await allowing.obstacles?.([{ role: privileged }], calm())).toEqual([]);
    const { identity } = await server.login();
    for (const role of roles) {
      const grant = byNames(client.authorizer).ensurePresent({ id: 'told', identity, access: { role } }, until, calm());
      expect([role, (await failure(grant)) === undefined]).toEqual([role, role === fine]);
    }
    await sql('drop role not_administered');
  });

  it('permits Belay’s user nothing else', async () => {
    const role = await server.role();
    const { user } = await server.login();
    await sql(`create role not_ours; revoke admin option for ${role} from root@localhost`);
    const belay = await server.connectAsBelay();
    for (const statement of [
      'select * from mysql.global_priv',
      'select Password from mysql.user',
      'select body from mysql.proc',
      'select * from app.report',
      "update belay.target set id = 'x'",
      `grant not_ours to ${user}@'%'`,
      `grant select on app.* to ${user}@'%'`,
      `grant references on app.* to ${user}@'%'`,
      `grant create on \`belay:x\`.* to ${user}@'%'`,
      'create database `belay:x`',
      "create user intruder@'%'",
      `set password for ${user}@'%' = password('x')`,
      `drop user ${user}@'%'`,
      'shutdown',
    ])
      expect([statement, await tryTo(belay, statement)]).toEqual([statement, false]);
    belay.destroy();
  });

  it.each([
    ["revoke select on mysql.db from belay@'%'", "grant select on mysql.db to belay@'%'", 'mysql.db'],
    [
      "revoke select on mysql.proxies_priv from belay@'%'",
      "grant select on mysql.proxies_priv to belay@'%'",
      'mysql.proxies_priv',
    ],
    ["revoke process on *.* from belay@'%'", "grant process on *.* to belay@'%'", 'PROCESS'],
    ["revoke show view on *.* from belay@'%'", "grant show view on *.* to belay@'%'", 'SHOW VIEW'],
    ["revoke connection admin on *.* from belay@'%'", "grant connection admin on *.* to belay@'%'", 'CONNECTION ADMIN'],
    [
      "revoke grant option on `belay:%`.* from belay@'%'",
      "grant references on `belay:%`.* to belay@'%' with grant option",
      'REFERENCES ON `belay:%`',
    ],
    ['rename table belay.memberships to belay.other', 'rename table belay.other to belay.memberships', 'memberships'],
  ])('is found incomplete after: %s', async (take, give, name) => {
    // A connection keeps the privileges with which it was opened.
    const one = await fresh();
    await sql(take);
    const client = await server.client();
    const error = await failure(client.check(calm()));
    await failure(byNames(client.authorizer).ensurePresent(one, until, calm()));
    await sql(give);
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain(name);
    await (await server.client()).check(calm());
  });

  it('is not trusted with an end that cannot be seen: without PROCESS nothing settles', async () => {
    const one = await fresh();
    const before = await server.authorizer();
    await before.ensurePresent(one, until, calm());
    await sql("revoke process on *.* from belay@'%'");
    const error = await failure((await server.authorizer()).ensureAbsent(one, calm()));
    await sql("grant process on *.* to belay@'%'");
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain('PROCESS');
    await (await server.authorizer()).ensureAbsent(one, calm());
  });

  it('is not trusted through a connection from before PROCESS was granted', async () => {
    const one = await fresh();
    const granting = await server.authorizer();
    await granting.ensurePresent(one, until, calm());
    await sql("revoke process on *.* from belay@'%'");
    const authorizer = await server.authorizer({ max_connections: 1 });
    expect(await authorizer.holds(one, calm())).toBe(true);
    await sql("grant process on *.* to belay@'%'");
    const { target, password } = server;
    const user = one.identity.replace('@%', '');
    const connection = await createConnection({ host: '127.0.0.1', port: target.port, user, password });
    connection.on('error', () => {});
    const error = await failure(authorizer.ensureAbsent(one, calm()));
    expect(error).toBeInstanceOf(Terminal);
    await authorizer.ensureAbsent(one, calm());
    expect(await tryTo(connection, 'select 1')).toBe(false);
  });

  it('ends the connections even when the role cannot be revoked, and does not settle', async () => {
    const { identity, access, id } = await fresh();
    const [user] = identity.split('@');
    const authorizer = await server.authorizer();
    await authorizer.ensurePresent({ id, identity, access }, until, calm());
    await sql(`revoke admin option for ${access.role} from belay@'%'`);
    const { target, password } = server;
    const connection = await createConnection({ host: '127.0.0.1', port: target.port, user: user ?? '', password });
    connection.on('error', () => {});
    const error = await failure(authorizer.ensureAbsent({ id, identity, access }, calm()));
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain('admin option');
    expect(await tryTo(connection, 'select 1')).toBe(false);
    expect(await authorizer.holds({ id, identity, access }, calm())).toBe(true);
    await sql(`grant ${access.role} to belay@'%' with admin option`);
    await authorizer.ensureAbsent({ id, identity, access }, calm());
  });

  it('ends the connections from the time in which it could not revoke the role, also when an administrator has revoked it', async () => {
    const { identity, access, id } = await fresh();
    const [user] = identity.split('@');
    const one = { id, identity, access, generation: 'first' };
    const authorizer = await server.authorizer();
    await authorizer.ensurePresent(one, until, calm());
    await sql(`revoke admin option for ${access.role} from belay@'%'`);
    expect(await failure(authorizer.ensureAbsent(one, calm()))).toBeInstanceOf(Terminal);
    const { target, password } = server;
    const connection = await createConnection({ host: '127.0.0.1', port: target.port, user: user ?? '', password });
    connection.on('error', () => {});
    await connection.query(`set role ${access.role}`);
    await sql(`revoke ${access.role} from ${user}@'%'`);
    await sql(`grant ${access.role} to belay@'%' with admin option`);
    await authorizer.ensureAbsent(one, calm());
    expect(await tryTo(connection, 'select 1')).toBe(false);
  });

  it.each([
    ['a wrong password', '', '', 'rejected the connector'],
    [
      'an expired password',
      "alter user belay@'%' password expire",
      "alter user belay@'%' password expire never",
      'expired',
    ],
    ['a locked account', "alter user belay@'%' account lock", "alter user belay@'%' account unlock", 'locked'],
  ])('has no secret in what is said of %s', async (which, take, give, message) => {
    if (take) await sql(take);
    const url = which === 'a wrong password' ? server.url.replace(server.password, 'another-secret') : server.url;
    const client = await server.client({ url });
    const one = { id: 'x', identity: 'rita@%', access: { role: 'r' } };
    const error = await failure(byNames(client.authorizer).holds(one, calm()));
    if (give) await sql(give.includes('never') ? `alter user belay@'%' identified by '${server.password}'` : give);
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toContain(message);
    expect(error.message).not.toMatch(/secret|password-of|127\.0\.0\.1|belay@/);
    await (await server.client()).check(calm());
  });

  it('does not connect without TLS where TLS is required', async () => {
    const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';
    const error = await failure((await server.client({ ca })).check(calm()));
    expect(error.message).toMatch(/TLS|certificate/);
  });

  it('reports what weakens the promise, and what its user has too much', async () => {
    await sql("grant create on test.* to public; grant super, file on *.* to belay@'%'");
    const found = (await (await server.client()).weaknesses?.(calm())) ?? [];
    await sql("revoke create on test.* from public; revoke super, file on *.* from belay@'%'");
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringContaining('SUPER, FILE'),
      expect.stringContaining('every account can create tables'),
    ]);
  });

  it('leaves no access after 240 connections that were lost at any point', async () => {
    await using proxy = await startFaultyProxy({ host: '127.0.0.1', port: server.target.port });
    const url = server.url.replace(`:${server.target.port}/`, `:${proxy.port}/`);
    const authorizer: ByNames = await server.authorizer({ url });
    const one = await fresh();
    const pin = await authorizer.pin(one, calm());
    const held = { ...one, ...(pin && { pin }) };
    const losses = ['reset', 'close', 'half-close'] as const;
    let lost = 0;
    const badly = async (work: () => Promise<unknown>) => {
      const error = await failure(work());
      if (error === undefined) return;
      expect(error).toBeInstanceOf(Retryable);
      lost += 1;
    };
    for (let turn = 0; lost < 240; turn += 1) {
      proxy.loseAfter(turn % 37, losses[turn % losses.length] ?? 'reset');
      await badly(() => authorizer.ensurePresent(held, until, calm()));
      proxy.loseAfter((turn * 7) % 37, losses[turn % losses.length] ?? 'reset');
      await badly(() => authorizer.ensureAbsent(held, calm()));
    }
    proxy.loseAfter(1_000_000, 'close');
    await authorizer.ensureAbsent(held, calm());
    expect(await authorizer.holds(held, calm())).toBe(false);
    expect(
      await sql(
        `select User from mysql.roles_mapping where Role = '${one.access.role}' and User not in ('root', 'belay')`,
      ),
    ).toEqual([]);
    expect(await sql(`select Db from mysql.db where Db like 'belay:${one.id}:%'`)).toEqual([]);
  });
});
