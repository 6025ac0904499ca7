import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OtherTarget, Retryable, Terminal } from '../../src/index.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { canRead, type Login, type MysqlServer, openServer, tryTo } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('access to MariaDB', () => {
  let server: MysqlServer;
  let authorizer: ByNames;
  let made = 0;
  beforeAll(async () => {
    server = await openServer();
    authorizer = await server.authorizer();
  });
  afterAll(() => server?.close());

  const sql = async (statement: string) => (await server.admin.query(statement))[0] as Record<string, unknown>[];
  const present = (one: NamedEntitlement) => authorizer.ensurePresent(one, until, calm());
  const absent = (one: NamedEntitlement) => authorizer.ensureAbsent(one, calm());
  const holds = (one: NamedEntitlement) => authorizer.holds(one, calm());
  const membersOf = async (role: string) =>
    (
      await sql(
        `select User as user from mysql.roles_mapping where Role = '${role}' and User <> 'root' and User <> 'belay'`,
      )
    ).map(({ user }) => user);
  const pinned = async (role: string, identity: string): Promise<NamedEntitlement> => {
    made += 1;
    const one = { id: `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`, identity, access: { role } };
    const pin = await authorizer.pin(one, calm());
    if (!pin) throw new Error('nothing to pin');
    return { ...one, pin };
  };
  const open = async (role = '', login?: Login) => {
    const person = login ?? (await server.login());
    const name = role || (await server.role());
    return { role: name, person, one: await pinned(name, person.identity) };
  };
  const rejection = async (work: Promise<unknown>) => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Terminal);
    return (error as Terminal).message;
  };

  it('lets a person do what was forbidden before, and forbids it again, in the open connection too', async () => {
    const { role, person, one } = await open();
    const connection = await person.connect();
    expect(await tryTo(connection, `set role ${role}`)).toBe(false);
    await present(one);
    await connection.query(`set role ${role}`);
    expect((await connection.query('select answer from app.report'))[0]).toEqual([{ answer: 42 }]);
    await absent(one);
    expect(await tryTo(connection, 'select answer from app.report')).toBe(false);
    expect(await canRead(person, role)).toBe(false);
  });

  it('ends at a repeated revocation only the connections that may have had the role', async () => {
    const { person, one } = await open();
    const first = { ...one, generation: 'first' };
    await present(first);
    await absent(first);
    const later = await person.connect();
    await absent(first);
    expect(await tryTo(later, 'select 1')).toBe(true);
    await absent({ ...one, generation: 'second' });
    expect(await tryTo(later, 'select 1')).toBe(false);
  });

  it('leaves the connections of others, and other roles of the person, alone', async () => {
    const { person, one } = await open();
    const [other, neighbour] = [await server.role(), await server.login()];
    await sql(`grant ${other} to ${person.user}@'%'; grant ${one.access.role} to ${neighbour.user}@'%'`);
    const connection = await neighbour.connect();
    await present(one);
    await absent(one);
    expect(await tryTo(connection, `set role ${one.access.role}`)).toBe(true);
    expect(await membersOf(other)).toEqual([person.user]);
    expect(await membersOf(String(one.access.role))).toEqual([neighbour.user]);
  });

  it.each([
    ['has SELECT on the whole server', (role: string) => `grant select on *.* to ${role}`, 'whole server'],
    ['has FILE', (role: string) => `grant file on *.* to ${role}`, 'whole server'],
    ['has SUPER', (role: string) => `grant super on *.* to ${role}`, 'whole server'],
    ['has CREATE USER', (role: string) => `grant create user on *.* to ${role}`, 'whole server'],
    ['has CONNECTION ADMIN', (role: string) => `grant connection admin on *.* to ${role}`, 'whole server'],
    ['has ALL on the whole server', (role: string) => `grant all on *.* to ${role}`, 'whole server'],
    ['reads the schema of accounts', (role: string) => `grant select on mysql.* to ${role}`, 'schema of the server'],
    ['reads a table of accounts', (role: string) => `grant select on mysql.db to ${role}`, 'schema of the server'],
    ['reads all schemas by a pattern', (role: string) => `grant select on \`m%\`.* to ${role}`, 'schema of the server'],
    ['writes the schema of the connector', (role: string) => `grant update on belay.* to ${role}`, 'connector'],
    [
      'has grant option on a schema',
      (role: string) => `grant select on app.* to ${role} with grant option`,
      'grant option',
    ],
    [
      'has grant option on a table',
      (role: string) => `grant select on app.report to ${role} with grant option`,
      'grant option',
    ],
    ['creates views', (role: string) => `grant create view on app.* to ${role}`, 'create or alter'],
    ['creates triggers on a table', (role: string) => `grant trigger on app.report to ${role}`, 'create or alter'],
    ['has ALL on a schema', (role: string) => `grant all on app.* to ${role}`, 'create or alter'],
    ['references a column', (role: string) => `grant references (answer) on app.report to ${role}`, 'create or alter'],
    [
      'grants another role',
      (role: string) => `create role r_${role}; grant r_${role} to ${role} with admin option`,
      'admin option',
    ],
    [
      'has a role that has a role with FILE',
      (role: string) => `create role a_${role}; create role b_${role}; grant file on *.* to b_${role};
        grant b_${role} to a_${role}; grant a_${role} to ${role}`,
      'whole server',
    ],
  ])('rejects a role that %s, unless privileged roles are allowed', async (_which, grant, message) => {
    const { role, one } = await open();
    await sql(grant(role));
    const told = await rejection(present(one));
    expect(told).toContain(message);
    expect(told).toContain('allow_privileged_roles');
    expect(await holds(one)).toBe(false);
    expect((await authorizer.roles(calm())).map(({ name }) => name)).not.toContain(role);
    const permissive = await server.authorizer({ allow_privileged_roles: true });
    await permissive.ensurePresent(one, until, calm());
    await permissive.ensureAbsent(one, calm());
    expect(await membersOf(role)).toEqual([]);
  });

  it.each([
    [
      'can create tables in a schema',
      (user: string) => `grant create on scratch.* to ${user}@'%'`,
      'accept_objects_left_behind',
    ],
    [
      'can create views, by a grant for another host',
      (user: string) => `grant create view on scratch.* to ${user}@'%'`,
      'accept_objects_left_behind',
    ],
    [
      'can create routines by a role',
      (user: string) =>
        `create role of_${user}; grant create routine on scratch.* to of_${user}; grant of_${user} to ${user}@'%'`,
      'accept_objects_left_behind',
    ],
    ['may change accounts', (user: string) => `grant create user on *.* to ${user}@'%'`, 'allow_privileged_roles'],
    ['may end connections', (user: string) => `grant connection admin on *.* to ${user}@'%'`, 'allow_privileged_roles'],
    ['has an account for another host', (user: string) => `create user ${user}@localhost`, 'several hosts'],
    ['has a proxy', (user: string) => `grant proxy on ${user}@'%' to belay@'%'`, 'GRANT PROXY'],
  ])('rejects an account that %s', async (_which, change, message) => {
    const { person, one } = await open();
    await sql(change(person.user));
    expect(await rejection(present(one))).toContain(message);
    expect(await holds(one)).toBe(false);
  });

  it('is stopped by a proxy of the account without a name of its own, under which a plugin may let everyone act', async () => {
    const { person, one } = await open();
    await sql("create user ''@'%' identified by 'a-guest'");
    try {
      await present(one);
      const connection = await person.connect();
      await connection.query(`grant proxy on ${person.user}@'%' to ''@'%'`);
      const { port } = server.target;
      const guest = await createConnection({ host: '127.0.0.1', port, user: 'a_guest', password: 'a-guest' });
      guest.on('error', () => {});
      await expect(absent(one)).rejects.toThrow('GRANT PROXY');
      expect([await holds(one), await tryTo(guest, 'select 1')]).toEqual([false, false]);
      connection.destroy();
      guest.destroy();
      await sql(`revoke proxy on ${person.user}@'%' from ''@'%'`);
      await absent(one);
      await sql(`grant proxy on ${person.user}@'%' to ''@'%'`);
      expect(await rejection(present(one))).toContain('GRANT PROXY');
    } finally {
      await sql("drop user ''@'%'");
    }
  });

  it('is stopped by a proxy whose names are patterns for the server', async () => {
    const person = await server.login('r1ta');
    const alike = await server.login('r_ta');
    const helper = await server.login('helper');
    await server.login('h%');
    const { one } = await open('', person);
    await present(one);
    const [connection, helping] = [await alike.connect(), await helper.connect()];
    await connection.query("grant proxy on 'r_ta'@'%' to 'h%'@'%'");
    await expect(absent(one)).rejects.toThrow('GRANT PROXY');
    expect([await holds(one), await tryTo(helping, 'select 1'), await tryTo(connection, 'select 1')]).toEqual([
      false,
      false,
      true,
    ]);
    expect(await rejection(present(one))).toContain('GRANT PROXY');
    await connection.query("revoke proxy on 'r_ta'@'%' from 'h%'@'%'");
    await absent(one);
    for (const { user } of [person, alike, helper, { user: 'h%' }]) await sql(`drop user '${user}'@'%'`);
  });

  it('rejects every account while all accounts can create tables in a schema', async () => {
    const { one } = await open();
    await sql('grant create on scratch.* to public');
    expect(await rejection(present(one))).toContain('PUBLIC');
    await sql('revoke create on scratch.* from public');
    await present(one);
    await absent(one);
  });

  it('rejects its own user, and a role of which a view is the property', async () => {
    const role = await server.role();
    expect(await rejection(present(await pinned(role, 'belay@%')))).toContain('user of the connector');
    const { person, one } = await open();
    await sql(`create definer = ${one.access.role} sql security definer view app.kept as select 1 as one`);
    expect(await rejection(present(one))).toContain('the view app.kept');
    await sql('drop view app.kept');
    expect(await membersOf(String(one.access.role))).toEqual([]);
    void person;
  });

  it('leaves a standing membership alone that was there before a request', async () => {
    const { role, person, one } = await open();
    await sql(`grant ${role} to ${person.user}@'%'`);
    expect(await holds(one)).toBe(true);
    expect(await membersOf(role)).toEqual([person.user]);
  });

  it('corrects an admin option that the account got beside the role', async () => {
    const { role, person, one } = await open();
    await present(one);
    await sql(`grant ${role} to ${person.user}@'%' with admin option`);
    await present(one);
    expect(await sql(`select Admin_option as admin from mysql.roles_mapping where User = '${person.user}'`)).toEqual([
      { admin: 'N' },
    ]);
    await absent(one);
  });

  it('lists the member that a holder with the admin option made, as one of no entitlement', async () => {
    const { role, person, one } = await open();
    const accomplice = await server.login();
    const exclusive = await server.authorizer({ exclusive: [role] });
    await sql(`revoke ${role} from root@localhost`);
    await present(one);
    const belay = await server.connectAsBelay();
    await belay.query(`grant ${role} to ${person.user}@'%' with admin option`);
    const connection = await person.connect();
    await connection.query(`grant ${role} to ${accomplice.user}@'%'`);
    await absent(one);
    const found: NamedEntitlement[] = [];
    for await (const each of exclusive.list?.(calm()) ?? []) found.push(each);
    expect(found).toMatchObject([{ id: '', identity: accomplice.identity, access: { role } }]);
    belay.destroy();
  });

  it('does not lose the mark to the holder, and has nothing to do after an administrator revoked everything', async () => {
    const { role, person, one } = await open();
    await present(one);
    const [row] = await sql(`select Db as mark from mysql.db where User = '${person.user}'`);
    const connection = await person.connect();
    expect(await tryTo(connection, `revoke references on \`${row?.mark}\`.* from ${person.user}@'%'`)).toBe(false);
    expect(await tryTo(connection, `create database \`${row?.mark}\``)).toBe(false);
    await connection.query(`set role ${role}`);
    await sql(`revoke all, grant option from ${person.user}@'%'`);
    expect(await holds(one)).toBe(false);
    expect(await tryTo(connection, 'select * from app.report')).toBe(true);
    await absent(one);
    expect(await tryTo(connection, 'select * from app.report')).toBe(false);
  });

  it('follows a renamed account, and leaves the new one of its name alone', async () => {
    const { role, person, one } = await open();
    await present(one);
    await sql(
      `rename user ${person.user}@'%' to moved_${person.user}@'%'; create user ${person.user}@'%'; grant ${role} to ${person.user}@'%'`,
    );
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect(await holds({ ...one, identity: `moved_${person.user}@%` })).toBe(true);
    expect(await membersOf(role)).toEqual([person.user]);
    await sql(`revoke ${role} from ${person.user}@'%'`);
    expect(await holds(one)).toBe(false);
  });

  it.each([
    ['made again', (user: string) => `drop user ${user}@'%'; create user ${user}@'%'`],
    ['given another password', (user: string) => `set password for ${user}@'%' = password('x')`],
  ])('does not grant to an account that was %s since the request', async (_which, change) => {
    const { person, one } = await open();
    // The server stores the time in whole seconds, so the earlier time is set far back.
    await sql(
      `update mysql.global_priv set Priv = json_set(Priv, '$.password_last_changed', 1) where User = '${person.user}'; flush privileges`,
    );
    const before = await pinned(String(one.access.role), person.identity);
    await sql(change(person.user));
    expect(await rejection(present(before))).toContain('request it again');
    expect(await holds(before)).toBe(false);
    await present(await pinned(String(one.access.role), person.identity));
    await absent(before);
  });

  it('has nothing left to revoke from an account that was dropped, and ends its connections', async () => {
    const { role, person, one } = await open();
    await present(one);
    const connection = await person.connect();
    await connection.query(`set role ${role}`);
    await sql(`drop user ${person.user}@'%'`);
    expect(await tryTo(connection, 'select * from app.report')).toBe(true);
    await absent(one);
    expect(await tryTo(connection, 'select * from app.report')).toBe(false);
    expect(await holds(one)).toBe(false);
  });

  it('has nothing left to revoke of a role that was dropped, and ends connections that have it set', async () => {
    const { role, person, one } = await open();
    await present(one);
    const connection = await person.connect();
    await connection.query(`set role ${role}`);
    await sql(`drop role ${role}`);
    await absent(one);
    expect(await tryTo(connection, 'select 1')).toBe(false);
    expect(await rejection(present(one))).toContain('does not exist');
    expect(await sql(`select Db from mysql.db where User = '${person.user}'`)).toEqual([]);
  });

  it('touches nothing at another server', async () => {
    const { role, person, one } = await open();
    await present(one);
    const [row] = await sql('select id from belay.target');
    await sql("update belay.target set id = 'another'");
    for (const call of [holds, present, absent]) await expect(call(one)).rejects.toBeInstanceOf(OtherTarget);
    expect(await membersOf(role)).toEqual([person.user]);
    await sql(`update belay.target set id = '${row?.id}'`);
    await absent(one);
  });

  it('revokes the role from a copy of the account, which has the mark as well', async () => {
    const { role, person, one } = await open();
    await present(one);
    const grants = (await sql(`show grants for ${person.user}@'%'`)).flatMap((row) => Object.values(row).map(String));
    await sql(`create user copy_of_${person.user}@'%'`);
    for (const grant of grants.filter((line) => !line.includes('USAGE'))) {
      await sql(grant.replace(person.user, `copy_of_${person.user}`));
    }
    expect((await membersOf(role)).length).toBe(2);
    await absent(one);
    expect(await membersOf(role)).toEqual([]);
  });

  it('lists what it granted by the identifier of the entitlement, and 5,000 members of an exclusive role', async () => {
    const role = await server.role('popular');
    const { person, one } = await open(role);
    await present(one);
    await sql(`insert into mysql.global_priv (Host, User, Priv)
      select '%', concat('m', seq), json_object('access', 0, 'password_last_changed', seq) from test.seq_1_to_5000;
      insert into mysql.roles_mapping select '%', concat('m', seq), '${role}', 'N' from test.seq_1_to_5000; flush privileges`);
    const found: NamedEntitlement[] = [];
    const exclusive = await server.authorizer({ exclusive: [role] });
    for await (const each of exclusive.list?.(calm()) ?? []) found.push(each);
    // The number includes root, who created the role.
    expect(found.length).toBe(5_002);
    expect(found.find(({ id }) => id !== '')).toEqual(one);
    const member = found.find(({ identity }) => identity === 'm4321@%');
    expect(member?.pin).toEqual(await authorizer.pin({ identity: 'm4321@%', access: { role } }, calm()));
    await absent(one);
    expect((await membersOf(role)).length).toBe(5_000);
    expect(await membersOf(role)).not.toContain(person.user);
    await sql(
      "delete from mysql.global_priv where User regexp '^m[0-9]+$'; delete from mysql.roles_mapping where User regexp '^m[0-9]+$'; flush privileges",
    );
  });

  it('waits for a server that is read-only, or that has no connection left', async () => {
    const { one } = await open();
    await authorizer.standBy?.(calm());
    await sql('set global read_only = 1');
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    await sql('set global read_only = 0');
    await sql('set global tx_read_only = 1');
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    await sql('set global tx_read_only = 0');
    await present(one);
    await absent(one);
    await authorizer.standDown?.();
  });

  it('finds the one account of a person, and no account where there are two', async () => {
    const client = await server.client({
      email_domains: ['example.test'],
      users: { 'boss@example.test': 'chief', 'two@example.test': 'two@localhost' },
    });
    await server.login('rita');
    await server.login('chief');
    await sql("create user two@'%'; create user two@localhost");
    const find = async (email: string) =>
      (await client.identities?.find({ email, name: '', subject: '' }, calm()))?.id ?? null;
    expect(await find('rita@example.test')).toBe('rita@%');
    expect(await find('rita@other.test')).toBeNull();
    expect(await find('boss@example.test')).toBe('chief@%');
    expect(await find('two@example.test')).toBe('two@localhost');
    expect(await find('nobody@example.test')).toBeNull();
    expect(await find('belay@example.test')).toBeNull();
    const whole = await server.client({ username_template: '{email}' });
    await server.login('two@example.test');
    const found = await whole.identities?.find({ email: 'two@example.test', name: '', subject: '' }, calm());
    expect(found?.id).toBe('two@example.test@%');
    const rita = { id: 'rita@%', name: 'rita', email: 'rita@example.test' };
    expect(await client.identities?.get('rita@%', calm())).toEqual(rita);
    expect((await client.identities?.get('two@%', calm()))?.email).toBe('two@%');
    expect((await client.identities?.search('chief', 5, calm()))?.[0]?.email).toBe('boss@example.test');
    const several = await server.client({
      email_domains: ['example.test', 'other.test'],
      users: { 'boss@example.test': 'rita', 'rita@other.test': 'chief' },
    });
    // The table gives the address, and the template adds addresses that are not in the table.
    expect(await several.identities?.get('rita@%', calm())).toMatchObject({
      email: 'boss@example.test',
      addresses: ['rita@example.test'],
    });
  });
});
