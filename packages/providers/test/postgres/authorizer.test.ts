import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LeftToOthers, type ProviderClient, postgresConnector, Retryable, Terminal } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { openTestServer, type TestServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('the postgres authorizer', () => {
  let server: TestServer;
  const clients: ProviderClient[] = [];
  let authorizer: ByNames;

  const authorizerOf = (config: Record<string, unknown>, log: (line: string) => void = () => {}): ByNames => {
    const client = postgresConnector.create(
      postgresConnector.config.parse({
        url: server.url(),
        email_domains: ['example.test'],
        accept_objects_left_behind: server.version < 160_000,
        ...config,
      }),
      { now: Date.now, log },
    );
    clients.push(client);
    if (!client.authorizer) throw new Error('the connector has no authorizer');
    return byNames(client.authorizer);
  };
  const entitlement = (role: string, identity: string) => ({ id: 'e', identity, access: { role } });
  const terminal = async (work: Promise<unknown>) => {
    const error = await work.catch((caught) => caught);
    expect(error).toBeInstanceOf(Terminal);
    return (error as Error).message;
  };

  beforeAll(async () => {
    server = await openTestServer();
    authorizer = authorizerOf({});
    await server.admin`create table report as select 42 as answer`;
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server?.close();
  });

  const reader = async () => {
    const role = await server.role();
    await server.admin.unsafe(`grant select on report to ${role}`);
    return role;
  };
  /** Returns the process of a session. postgres.js reconnects silently, so a test checks whether this process still exists. */
  const session = async (sql: ReturnType<TestServer['connect']>) =>
    (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid;
  const isAlive = async (pid: number) =>
    (await server.admin`select from pg_stat_activity where pid = ${pid}`).length > 0;
  const read = (sql: ReturnType<TestServer['connect']>) =>
    sql`select answer from report`.then((rows) => rows[0]?.answer);

  it('lets the identity read what only the role may read, and not after the revocation', async () => {
    const [role, user] = [await reader(), await server.login()];
    const sql = server.connect(user);
    await expect(read(sql)).rejects.toThrow('permission denied');
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    expect(await read(sql)).toBe(42);
    const pid = await session(sql);
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    expect(await isAlive(pid)).toBe(false);
    await expect(read(server.connect(user))).rejects.toThrow('permission denied');
  });

  it('ends a session that became the role, and one with an open cursor, and no session of others', async () => {
    const [role, user, other] = [await reader(), await server.login(), await server.login()];
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    const [became, cursor, bystander] = [server.connect(user), server.connect(user), server.connect(other)];
    // From version 16 on, only a grant by another user lets the member become the role.
    if (server.version >= 160_000) {
      await expect(became.unsafe(`set role ${role}`)).rejects.toThrow('permission denied');
      await server.admin.unsafe(`grant ${role} to ${user.name} with set true`);
    }
    await became.unsafe(`set role ${role}`);
    await cursor.unsafe('begin; declare c cursor for select answer from report');
    const pid = await session(bystander);
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    const left = await server.admin`select from pg_stat_activity where usename = ${user.name}`;
    expect(left.length).toBe(0);
    expect(await session(bystander)).toBe(pid);
  });

  it('ends sessions on a repeated call too: the earlier call may have stopped after the revocation', async () => {
    const [role, user] = [await reader(), await server.login()];
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    const sql = server.connect(user);
    if (server.version >= 160_000) await server.admin.unsafe(`grant ${role} to ${user.name} with set true`);
    await sql.unsafe(`set role ${role}`);
    await server.admin.unsafe(`revoke ${role} from ${user.name}`);
    expect(await read(sql)).toBe(42);
    const pid = await session(sql);
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    expect(await isAlive(pid)).toBe(false);
    await expect(read(server.connect(user))).rejects.toThrow('permission denied');
  });

  it('keeps what the identity holds through other roles', async () => {
    const [role, standing, user] = [await reader(), await server.role(), await server.login()];
    await server.admin.unsafe(`grant ${standing} to ${user.name}`);
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    expect(await authorizer.holds(entitlement(standing, user.name), calm())).toBe(true);
  });

  it('leaves the membership that another administrator granted as well, and names them, after ending its own grant', async () => {
    const [role, user, colleague] = [await reader(), await server.login(), await server.role()];
    await server.admin.unsafe(`grant ${role} to ${colleague} with admin option`);
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    await server.admin.unsafe(`set role ${colleague}; grant ${role} to ${user.name}; reset role`);
    const grantors = () => server.admin`
      select grantor::regrole::text as name from pg_auth_members
      where roleid = ${role}::regrole and member = ${user.name}::regrole`;
    const revoking = authorizer.ensureAbsent(entitlement(role, user.name), calm());
    // Before PostgreSQL 16 the second grant changes nothing.
    if (server.version < 160_000) {
      expect(await revoking).toBeUndefined();
      return;
    }
    await expect(revoking).rejects.toBeInstanceOf(LeftToOthers);
    expect([...(await grantors())]).toEqual([{ name: colleague }]);
    await expect(authorizer.ensureAbsent(entitlement(role, user.name), calm())).rejects.toThrow(
      `also granted by ${colleague}, which`,
    );
    await server.admin.unsafe(`revoke ${role} from ${user.name} granted by ${colleague}`);
    await authorizer.ensureAbsent(entitlement(role, user.name), calm());
    expect([...(await grantors())]).toEqual([]);
  });

  it('grants for itself although another administrator granted the membership since the observation', async () => {
    const [role, user, colleague] = [await reader(), await server.login(), await server.role()];
    await server.admin.unsafe(`grant ${role} to ${colleague} with admin option`);
    const options = server.version < 160_000 ? '' : 'with set false';
    await server.admin.unsafe(`set role ${colleague}; grant ${role} to ${user.name} ${options}; reset role`);
    await authorizer.ensurePresent(entitlement(role, user.name), until, calm());
    await expect(authorizer.ensureAbsent(entitlement(role, user.name), calm())).rejects.toThrow(
      `also granted by ${colleague}, which`,
    );
    expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(true);
  });

  it('keeps the later sessions of a person who is a member by others until they revoke it, and ends those of before', async () => {
    const [role, user, colleague] = [await reader(), await server.login(), await server.role()];
    await server.admin.unsafe(`grant ${role} to ${colleague} with admin option`);
    const one = { ...entitlement(role, user.name), generation: 'g' };
    await authorizer.ensurePresent(one, until, calm());
    const options = server.version < 160_000 ? '' : 'with set false';
    if (server.version < 160_000) await server.admin.unsafe(`revoke ${role} from ${user.name}`);
    await server.admin.unsafe(`set role ${colleague}; grant ${role} to ${user.name} ${options}; reset role`);
    const before = await session(server.connect(user));
    await expect(authorizer.ensureAbsent(one, calm())).rejects.toBeInstanceOf(LeftToOthers);
    expect(await isAlive(before)).toBe(false);
    const after = await session(server.connect(user));
    await expect(authorizer.ensureAbsent(one, calm())).rejects.toBeInstanceOf(LeftToOthers);
    expect(await isAlive(after)).toBe(true);
    await server.admin.unsafe(`set role ${colleague}; revoke ${role} from ${user.name}; reset role`);
    await authorizer.ensureAbsent(one, calm());
    expect(await isAlive(after)).toBe(false);
  });

  it('reports whose grant is left of a mightier role, after ending the sessions and its own grant', async () => {
    const [role, user, mine] = [await reader(), await server.login(), await server.login('createrole')];
    await server.admin.unsafe(
      `grant pg_signal_backend to ${mine.name}; grant ${role} to ${mine.name} with admin option`,
    );
    const own = authorizerOf({ url: server.url(mine) });
    await own.ensurePresent(entitlement(role, user.name), until, calm());
    await server.admin.unsafe(`grant ${role} to ${user.name}`);
    const pid = await session(server.connect(user));
    if (server.version >= 160000) {
      const message = own.ensureAbsent(entitlement(role, user.name), calm()).catch(String);
      expect(await message).toMatch(/^LeftToOthers: The membership is also granted by \w+, which/);
      const grants = await server.admin`
        select from pg_auth_members where roleid = ${role}::regrole and member = ${user.name}::regrole`;
      expect(grants.length).toBe(1);
    } else {
      await own.ensureAbsent(entitlement(role, user.name), calm());
      expect(await own.holds(entitlement(role, user.name), calm())).toBe(false);
    }
    expect(await isAlive(pid)).toBe(false);
  });

  it('reports when it may not end sessions, and never counts that as success', async () => {
    const [role, user, mine] = [await reader(), await server.login(), await server.login('createrole')];
    await server.admin.unsafe(`grant ${role} to ${mine.name} with admin option`);
    const own = authorizerOf({ url: server.url(mine) });
    await own.ensurePresent(entitlement(role, user.name), until, calm());
    const pid = await session(server.connect(user));
    const message = await terminal(own.ensureAbsent(entitlement(role, user.name), calm()));
    expect(message).toContain('pg_signal_backend');
    expect(await isAlive(pid)).toBe(true);
    expect(await own.holds(entitlement(role, user.name), calm())).toBe(false);
  });

  it('rejects roles that reach beyond the database, directly or through another role', async () => {
    const user = await server.login();
    const wrapped = async (inner: string, options = '') => {
      const outer = await server.role();
      await server.admin.unsafe(`grant ${inner} to ${outer} ${options}`);
      return outer;
    };
    const privileged = [
      await server.role('superuser'),
      await server.role('createrole'),
      await server.role('replication'),
      await server.role('bypassrls'),
      'pg_execute_server_program',
      'pg_read_server_files',
      'pg_write_server_files',
      await wrapped(await wrapped(await server.role('superuser'))),
      await wrapped('pg_write_server_files'),
      await wrapped(await server.role(), 'with admin option'),
    ];
    for (const role of privileged) {
      const message = await terminal(authorizer.ensurePresent(entitlement(role, user.name), until, calm()));
      expect(message).toContain('allow_privileged_roles');
      expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(false);
    }
    const listed = (await authorizer.roles(calm())).map(({ name }) => name);
    for (const role of privileged) expect(listed).not.toContain(role);

    const daring = authorizerOf({ allow_privileged_roles: true });
    const [role = ''] = privileged;
    await daring.ensurePresent(entitlement(role, user.name), until, calm());
    expect(await daring.holds(entitlement(role, user.name), calm())).toBe(true);
    await daring.ensureAbsent(entitlement(role, user.name), calm());
    expect((await daring.roles(calm())).map(({ name }) => name)).toContain(role);
  });

  it('rejects itself and groups as identities, and never ends its own sessions', async () => {
    const [role, group, mine] = [await reader(), await server.role(), await server.login('superuser')];
    const own = authorizerOf({ url: server.url(mine) });
    expect(await terminal(own.ensurePresent(entitlement(role, mine.name), until, calm()))).toContain(
      'of the connector',
    );
    expect(await terminal(own.ensurePresent(entitlement(role, group), until, calm()))).toContain('not a login role');
    await own.ensureAbsent(entitlement(role, mine.name), calm());
    expect(await own.holds(entitlement(role, mine.name), calm())).toBe(false);
  });

  it('never confuses a name that PostgreSQL would truncate with the shorter one', async () => {
    const role = `${'a'.repeat(40)}${await server.role()}`.padEnd(63, 'z').slice(0, 63);
    const user = await server.login();
    await server.admin.unsafe(`create role ${role}`);
    try {
      await server.admin.unsafe(`grant ${role} to ${user.name}`);
      const longer = entitlement(`${role}zzz`, user.name);
      expect(await authorizer.holds(longer, calm())).toBe(false);
      await terminal(authorizer.ensurePresent(longer, until, calm()));
      await authorizer.ensureAbsent(longer, calm());
      expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(true);
    } finally {
      await server.admin.unsafe(`drop role ${role}`);
    }
  });

  it('grants and revokes names that need quoting', async () => {
    const suffix = server.database.slice(-6);
    const [role, identity] = [`Odd "role"; drop -- ${suffix}`, `o'brien.é@example ${suffix}`];
    const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
    await server.admin.unsafe(`create role ${quote(role)}; create role ${quote(identity)} login`);
    try {
      await authorizer.ensurePresent(entitlement(role, identity), until, calm());
      expect(await authorizer.holds(entitlement(role, identity), calm())).toBe(true);
      await authorizer.ensureAbsent(entitlement(role, identity), calm());
      expect(await authorizer.holds(entitlement(role, identity), calm())).toBe(false);
    } finally {
      await server.admin.unsafe(`drop role ${quote(role)}; drop role ${quote(identity)}`);
    }
  });

  it('handles calls about one membership from several workers at the same time without an error', async () => {
    const workers = [authorizerOf({ max_connections: 4 }), authorizerOf({ max_connections: 4 })];
    const [role, user] = [await reader(), await server.login()];
    const one = entitlement(role, user.name);
    for (let round = 0; round < 10; round++) {
      const calls = workers.flatMap((worker) => [
        worker.ensurePresent(one, until, calm()),
        worker.ensureAbsent(one, calm()),
        worker.ensurePresent(one, until, calm()),
        worker.ensureAbsent(one, calm()),
      ]);
      await Promise.all(calls);
      await Promise.all(workers.map((worker) => worker.ensurePresent(one, until, calm())));
      expect(await authorizer.holds(one, calm())).toBe(true);
      await Promise.all(workers.map((worker) => worker.ensureAbsent(one, calm())));
      expect(await authorizer.holds(one, calm())).toBe(false);
    }
  });

  it('does not wait for a membership that another session holds locked longer than its caller does', async () => {
    const [role, user] = [await reader(), await server.login()];
    const blocker = await server.admin.reserve();
    await blocker.unsafe(`begin; grant ${role} to ${user.name}`);
    const stop = new AbortController();
    const call = authorizer.ensurePresent(entitlement(role, user.name), until, stop.signal);
    await expect
      .poll(
        async () =>
          (
            await server.admin`select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'belay' and datname = current_database()`
          ).length,
        { timeout: 30_000 },
      )
      .toBeGreaterThan(0);
    stop.abort();
    await expect(call).rejects.toBeInstanceOf(Retryable);
    expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(false);
    await blocker.unsafe('rollback');
    blocker.release();
    await expect
      .poll(
        async () =>
          (
            await server.admin`select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'belay' and datname = current_database()`
          ).length,
        { timeout: 30_000 },
      )
      .toBe(0);
    expect(await authorizer.holds(entitlement(role, user.name), calm())).toBe(false);
  });

  it('ends a call when the server accepts a connection and does not respond', async () => {
    await using silent = createServer((socket) => socket.resume());
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const { port } = silent.address() as { port: number };
    const client = postgresConnector.create(
      postgresConnector.config.parse({
        url: `postgres://user:secret@127.0.0.1:${port}/x`,
        email_domains: ['example.test'],
      }),
      { now: Date.now, log: () => {} },
    );
    await expect(client.check(AbortSignal.timeout(50))).rejects.toBeInstanceOf(Retryable);
    await client.close();
  });

  it('distinguishes a wrong password and a missing database from a server that is down, and repeats no secret', async () => {
    const user = await server.login();
    const urls = [
      server.url({ ...user, password: 'wrong-secret' }),
      server.url(user).replace(server.database, 'no_such_database'),
    ];
    for (const url of urls) {
      const client = postgresConnector.create(
        postgresConnector.config.parse({ url, email_domains: ['example.test'] }),
        { now: Date.now, log: () => {} },
      );
      const error = await client.check(calm()).catch((caught) => caught);
      // A test server that trusts loopback accepts any password.
      if (error !== undefined) {
        expect(error).toBeInstanceOf(Terminal);
        expect(error.message).not.toMatch(/secret|127\.0\.0\.1|no_such_database/);
      } else expect(url).toContain('wrong-secret');
      await client.close();
    }
  });
});
