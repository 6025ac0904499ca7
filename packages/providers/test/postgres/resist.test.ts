import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { type ProviderClient, postgresConnector, Retryable, Terminal } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { openTestServer, type TestServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('the postgres authorizer against what a role makes possible', () => {
  let server: TestServer;
  let authorizer: ByNames;
  const clients: ProviderClient[] = [];

  const authorizerOf = (config: Record<string, unknown> = {}): ByNames => {
    const parsed = postgresConnector.config.parse({
      url: server.url(),
      email_domains: ['example.test'],
      accept_objects_left_behind: server.version < 160_000,
      ...config,
    });
    const client = postgresConnector.create(parsed, { now: Date.now, log: () => {} });
    clients.push(client);
    if (!client.authorizer) throw new Error('the connector has no authorizer');
    return byNames(client.authorizer);
  };
  const entitlement = (role: string, identity: string) => ({ id: 'e', identity, access: { role } });
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'it went well',
      (error: unknown) => error,
    );
  const reader = async () => {
    const role = await server.role();
    await server.admin.unsafe(`grant select on report to ${role}`);
    return role;
  };
  const session = async (sql: ReturnType<TestServer['connect']>) =>
    (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid;
  const isAlive = async (pid: number) =>
    (await server.admin`select from pg_stat_activity where pid = ${pid}`).length > 0;
  const optionsOf = (role: string, identity: string) => server.admin`
    select admin_option as admin, inherit_option as inherit, set_option as set from pg_auth_members
    where roleid = ${role}::regrole and member = ${identity}::regrole`;

  beforeAll(async () => {
    server = await openTestServer();
    authorizer = authorizerOf();
    await server.admin`create table report as select 42 as answer`;
    await server.admin`create schema free`;
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server?.close();
  });

  const builders: [string, (role: string) => string][] = [
    ['owns a table', (role) => `create table owned_${role} (a int); alter table owned_${role} owner to ${role}`],
    ['holds a privilege with grant option', (role) => `grant select on report to ${role} with grant option`],
    ['holds a column with grant option', (role) => `grant select (answer) on report to ${role} with grant option`],
    ['may create triggers', (role) => `grant trigger on report to ${role}`],
    ['may reference a table', (role) => `grant references on report to ${role}`],
    ['may create in a schema', (role) => `grant create on schema free to ${role}`],
    ['may create schemas', (role) => `grant create on database ${server.database} to ${role}`],
    ['may change a setting', (role) => `grant set on parameter log_statement to ${role}`],
    [
      'has default privileges of its own',
      (role) => `alter default privileges for role ${role} grant select on tables to public`,
    ],
    [
      'is given triggers on tables to come',
      (role) => `alter default privileges in schema free grant trigger on tables to ${role}`,
    ],
  ];
  it.each(builders)('rejects and does not list a role that %s, itself or through another', async (_which, make) => {
    const [inner, user] = [await server.role(), await server.login()];
    const outer = await server.role();
    await server.admin.unsafe(`grant ${inner} to ${outer}`);
    await server.admin.unsafe(make(inner));
    const listed = (await authorizer.roles(calm())).map(({ name }) => name);
    for (const role of [inner, outer]) {
      const error = await failure(authorizer.ensurePresent(entitlement(role, user.name), until, calm()));
      expect(error).toBeInstanceOf(Terminal);
      expect((error as Error).message).toContain('allow_privileged_roles');
      expect(listed).not.toContain(role);
    }
    const daring = authorizerOf({ allow_privileged_roles: true });
    expect(daring.leavesBehind).toMatch(/remain/);
    await daring.ensurePresent(entitlement(inner, user.name), until, calm());
    await daring.ensureAbsent(entitlement(inner, user.name), calm());
    expect(await daring.holds(entitlement(inner, user.name), calm())).toBe(false);
  });

  it('rejects predefined roles with which a holder could prevent a revocation', async () => {
    const user = await server.login();
    const names = ['pg_signal_backend', ...(server.version >= 160_000 ? ['pg_use_reserved_connections'] : [])];
    if (server.version >= 170_000) names.push('pg_maintain', 'pg_create_subscription');
    for (const role of names) {
      const error = await failure(authorizer.ensurePresent(entitlement(role, user.name), until, calm()));
      expect((error as Error).message).toContain('allow_privileged_roles');
    }
  });

  const obstructers: [string, (user: string) => string][] = [
    ['may end the sessions of others', (user) => `grant pg_signal_backend to ${user}`],
    ['owns the database', (user) => `alter database ${server.database} owner to ${user}`],
  ];
  it.each(obstructers)('rejects a login that %s, itself or through another role', async (_which, make) => {
    const [role, between, user] = [await reader(), await server.role(), await server.login()];
    await server.admin.unsafe(`grant ${between} to ${user.name}`);
    const [{ owner }] = await server.admin<[{ owner: string }]>`
      select datdba::regrole::text as owner from pg_database where datname = current_database()`;
    for (const one of [user.name, between]) {
      await server.admin.unsafe(make(one));
      const error = await failure(authorizer.ensurePresent(entitlement(role, user.name), until, calm()));
      await server.admin.unsafe(
        `revoke pg_signal_backend from ${one}; alter database ${server.database} owner to ${owner}`,
      );
      expect(error).toBeInstanceOf(Terminal);
      expect((error as Error).message).toContain('lock the connector out');
    }
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
  });

  it('gives a transaction of another login that reads through a view a moment to end', async () => {
    const [role, user, app] = [await reader(), await server.login(), await server.login()];
    await server.admin.unsafe(`create view free.shown_${role} as select answer from public.report;
      grant usage on schema free to ${app.name}; grant select on free.shown_${role} to ${app.name}`);
    const sql = server.connect(app);
    const one = entitlement(role, user.name);
    await authorizer.ensurePresent(one, until, calm());
    let absent: Promise<void> | undefined;
    const reading = sql.begin(async (tx) => {
      await tx.unsafe(`select * from free.shown_${role}`);
      absent = authorizer.ensureAbsent(one, calm());
      while (await authorizer.holds(one, calm()));
      return tx.unsafe(`select * from free.shown_${role}`);
    });
    expect(await reading).toEqual([{ answer: 42 }]);
    await absent;
    // A transaction of a login with its own privileges is never ended, however long it lasts.
    await server.admin.unsafe(`grant select on report to ${app.name}`);
    await authorizer.ensurePresent(one, until, calm());
    await sql.begin(async (tx) => {
      await tx`select answer from public.report`;
      await authorizer.ensureAbsent(one, calm());
      expect(await tx`select answer from public.report`).toEqual([{ answer: 42 }]);
    });
    await server.admin.unsafe(`drop view free.shown_${role}`);
  });

  it('rejects a role that can create objects in another database of the server, and one that cannot be checked there', async () => {
    const [plain, builder, user] = [await reader(), await reader(), await server.login()];
    const other = `${server.database}_other`;
    await server.admin.unsafe(`create database ${other}`);
    const there = server.connectTo(other);
    try {
      await there.unsafe(`create table report (a int); grant select on report to ${plain};
        grant select on report to ${builder} with grant option`);
      await authorizer.ensurePresent(entitlement(plain, user.name), until, calm());
      await authorizer.ensureAbsent(entitlement(plain, user.name), calm());
      const refused = await failure(authorizer.ensurePresent(entitlement(builder, user.name), until, calm()));
      expect((refused as Error).message).toContain('allow_privileged_roles');
      await there.unsafe(`revoke connect on database ${other} from public`);
      const mine = await server.login('createrole');
      await server.admin.unsafe(`grant ${plain} to ${mine.name} with admin option`);
      const error = await failure(
        authorizerOf({ url: server.url(mine) }).ensurePresent(entitlement(plain, user.name), until, calm()),
      );
      expect((error as Error).message).toContain('another database');
    } finally {
      await there.end({ timeout: 1 });
      await server.admin.unsafe(`drop database ${other} with (force)`);
    }
  });

  it('corrects a membership of its own that lets the identity become the role', async () => {
    if (server.version < 160_000) return;
    const [role, user, mine] = [await reader(), await server.login(), await server.login('createrole')];
    await server.admin.unsafe(
      `grant ${role} to ${mine.name} with admin option; grant pg_signal_backend to ${mine.name}`,
    );
    for (const [own, grant] of [
      [authorizer, (statement: string) => server.admin.unsafe(statement)],
      [authorizerOf({ url: server.url(mine) }), (statement: string) => server.connect(mine).unsafe(statement)],
    ] as const) {
      for (const options of ['with admin true', 'with set true', 'with inherit false, set true']) {
        await grant(`grant ${role} to ${user.name} ${options}`);
        await own.ensurePresent(entitlement(role, user.name), until, calm());
        expect(await optionsOf(role, user.name)).toEqual([{ admin: false, inherit: true, set: false }]);
        await own.ensureAbsent(entitlement(role, user.name), calm());
        expect(await optionsOf(role, user.name)).toEqual([]);
      }
    }
  });

  it('grants the privileges to a login that does not inherit by default', async () => {
    const [role, user] = [await reader(), await server.login('noinherit')];
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    if (server.version >= 160_000)
      expect(await server.connect(user)`select answer from public.report`).toEqual([{ answer: 42 }]);
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
  });

  it('names what is left behind, five things and how many more', async () => {
    const [role, user] = [await reader(), await server.login()];
    const one = entitlement(role, user.name);
    await authorizer.ensurePresent(one, until, calm());
    for (let k = 0; k < 7; k++)
      await server.admin.unsafe(
        `create table free.kept_${k}_${role} (a int); alter table free.kept_${k}_${role} owner to ${role}`,
      );
    const error = await failure(authorizer.ensureAbsent(one, calm()));
    expect(error).toBeInstanceOf(Retryable);
    expect((error as Error).message).toMatch(/table free\.kept_0_.*and \d+ more$/);
    expect(await authorizer.holds(one, calm())).toBe(false);
    await server.admin.unsafe(`drop owned by ${role}`);
    await authorizer.ensureAbsent(one, calm());
  });

  it('ends at a second revocation only the sessions that may have used the access', async () => {
    const [role, user] = [await reader(), await server.login()];
    const one = { ...entitlement(role, user.name), generation: 'first' };
    await authorizer.ensurePresent(one, until, calm());
    const before = await session(server.connect(user));
    await authorizer.ensureAbsent(one, calm());
    expect(await isAlive(before)).toBe(false);
    const after = await session(server.connect(user));
    await authorizer.ensureAbsent(one, calm());
    expect(await isAlive(after)).toBe(true);
    // Another process does not know about the first revocation, and another generation means a grant in between.
    for (const [which, ref] of [
      [authorizerOf(), one],
      [authorizer, { ...one, generation: 'second' }],
      [authorizer, entitlement(role, user.name)],
    ] as const) {
      const again = await session(server.connect(user));
      await which.ensureAbsent(ref, calm());
      expect(await isAlive(again)).toBe(false);
    }
  });

  it('ends all sessions again when the membership existed again, by a grant of any role', async () => {
    const [role, user] = [await reader(), await server.login()];
    const one = { ...entitlement(role, user.name), generation: 'first' };
    await authorizer.ensurePresent(one, until, calm());
    await authorizer.ensureAbsent(one, calm());
    const pid = await session(server.connect(user));
    await server.admin.unsafe(`grant ${role} to ${user.name}`);
    await authorizer.ensureAbsent(one, calm());
    expect(await isAlive(pid)).toBe(false);
  });

  it('ends all sessions again when the answer to a revocation was lost, also after an earlier one found nothing', async () => {
    const [role, user] = [await reader(), await server.login()];
    const named = entitlement(role, user.name);
    const url = new URL(server.url());
    await using proxy = await startFaultyProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(proxy.port);
    const beyond = authorizerOf({ url: url.href });
    const pin = await beyond.pin(named, calm());
    if (!pin) throw new Error('The membership was not pinned');
    // Pinned beforehand, so that the lost answer is that of the revocation.
    const one = { ...named, generation: 'first', pin };
    await beyond.ensureAbsent(one, calm());
    // The grant call of that generation arrives after the revocation.
    await beyond.ensurePresent(one, until, calm());
    const pid = await session(server.connect(user));
    proxy.loseAnswers((chunk) => chunk.includes('COMMIT\0'));
    expect(await failure(beyond.ensureAbsent(one, calm()))).toBeInstanceOf(Retryable);
    proxy.loseAnswers(undefined);
    expect(await beyond.holds(one, calm())).toBe(false);
    await beyond.ensureAbsent(one, calm());
    expect(await isAlive(pid)).toBe(false);
  });

  it('keeps the sessions of members who hold the role themselves, administrators of the login, and superusers', async () => {
    const [role, user] = [await reader(), await server.login()];
    const [colleague, administrator, root] = [
      await server.login(),
      await server.login(),
      await server.login('superuser'),
    ];
    await server.admin.unsafe(`
      grant ${user.name} to ${colleague.name}; grant ${role} to ${colleague.name};
      grant ${user.name} to ${root.name}`);
    if (server.version >= 160_000)
      await server.admin.unsafe(
        `grant ${user.name} to ${administrator.name} with admin true, inherit false, set false`,
      );
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    const pids = await Promise.all([colleague, administrator, root].map((login) => session(server.connect(login))));
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    for (const pid of pids) expect(await isAlive(pid)).toBe(true);
  });

  it('reports what weakens its setup, and nothing about a sound server and user', async () => {
    const mine = await server.login('createrole');
    const config = postgresConnector.config.parse({ url: server.url(mine), email_domains: ['example.test'] });
    const client = postgresConnector.create(config, { now: Date.now, log: () => {} });
    clients.push(client);
    const cures = async () => (await client.weaknesses?.(calm()))?.map(({ cure }) => cure) ?? [];
    expect(await cures()).toContain('grant it pg_signal_backend');
    await server.admin.unsafe(`grant pg_signal_backend to ${mine.name}`);
    expect(await cures()).not.toContain('grant it pg_signal_backend');
    expect(await cures()).toContainEqual(expect.stringContaining('CONNECTION LIMIT'));
    const root = postgresConnector.create(
      postgresConnector.config.parse({ url: server.url(), email_domains: ['example.test'] }),
      { now: Date.now, log: () => {} },
    );
    clients.push(root);
    if (server.version >= 160_000) expect(await root.weaknesses?.(calm())).toEqual([]);
    else
      expect(await root.weaknesses?.(calm())).toMatchObject([
        { message: expect.stringContaining('nothing is granted') },
      ]);
  });

  it('names what it could not grant, with the statement that lets it, before anyone has asked', async () => {
    const [mine, own] = [await server.login('createrole'), await reader()];
    const client = postgresConnector.create(
      postgresConnector.config.parse({
        url: server.url(mine),
        email_domains: ['example.test'],
        accept_objects_left_behind: true,
      }),
      { now: Date.now, log: () => {} },
    );
    clients.push(client);
    const obstacles = async (...roles: string[]) =>
      (await client.obstacles?.(
        roles.map((role) => ({ role })),
        calm(),
      )) ?? [];
    const role = `absent_${own}`;
    expect(await obstacles(role)).toMatchObject([{ access: { role }, cure: `create role "${role}"` }]);
    const user = await server.login();
    const root = await server.role('superuser');
    expect(await obstacles(root)).toMatchObject([{ message: expect.stringContaining('superuser') }]);
    if (server.version < 160_000) {
      expect(await obstacles(own)).toEqual([]);
      await server.admin.unsafe(`alter role ${mine.name} nocreaterole`);
    }
    const [found, ...others] = await obstacles(own);
    expect(others).toEqual([]);
    expect(found?.message).toContain('may not grant');
    // The obstacle is the error that a grant would get, and its cure is sufficient.
    const its = byNames(client.authorizer);
    await expect(its.ensurePresent(entitlement(own, user.name), until, calm())).rejects.toThrow('not permitted');
    await server.admin.unsafe(found?.cure ?? '');
    expect(await obstacles(own)).toEqual([]);
    await its.ensurePresent(entitlement(own, user.name), until, calm());
    expect(await its.holds(entitlement(own, user.name), calm())).toBe(true);
    await its.ensureAbsent(entitlement(own, user.name), calm());
    // The connector rejects a role whose members can grant another one.
    const other = await reader();
    await server.admin.unsafe(
      `grant ${other} to ${mine.name} with admin option; grant ${own} to ${other} with admin option`,
    );
    expect(await obstacles(own, other)).toMatchObject([
      { access: { role: other }, message: expect.stringContaining('can grant membership') },
    ]);
  });

  it('is not misled by operators and functions that the holder created in public', async () => {
    const [role, user] = [await reader(), await server.login()];
    await server.admin.unsafe(`grant create on schema public to ${user.name}`);
    const sql = server.connect(user);
    await sql.unsafe(`
      create function public.never(name, text) returns boolean language sql immutable as 'select false';
      create operator public.= (leftarg = name, rightarg = text, function = public.never);
      create function public.never(oid, oid) returns boolean language sql immutable as 'select false'`);
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(true);
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(false);
    await server.admin.unsafe(`drop owned by ${user.name}`);
  });
});
