import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProviderClient, postgresConnector } from '../../src/index.js';
import { openTestServer, type TestServer } from './server.js';

const calm = () => new AbortController().signal;
const person = (email: string) => ({ email, name: 'Somebody', subject: 's' });

describe('the postgres identities', () => {
  let server: TestServer;
  const clients: ProviderClient[] = [];
  const identitiesOf = (config: Record<string, unknown>) => {
    const parsed = postgresConnector.config.parse({
      url: server.url(),
      email_domains: ['example.test'],
      ...config,
    });
    const client = postgresConnector.create(parsed, { now: Date.now, log: () => {} });
    clients.push(client);
    if (!client.identities) throw new Error('the connector has no identities');
    return client.identities;
  };

  beforeAll(async () => {
    server = await openTestServer();
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server?.close();
  });

  it('finds a person by the local part of the e-mail address, and only as a login role', async () => {
    const [user, group] = [await server.login(), await server.role()];
    const identities = identitiesOf({});
    const email = `${user.name}@example.test`;
    expect(await identities.find(person(email), calm())).toEqual({ id: user.name, name: user.name, email });
    for (const nobody of [
      `${group}@example.test`,
      'nobody@example.test',
      '@example.test',
      user.name,
      `x'; --@a.test`,
    ]) {
      expect(await identities.find(person(nobody), calm())).toBeNull();
    }
    expect(await identities.find(person(`${'a'.repeat(64)}@example.test`), calm())).toBeNull();
  });

  it('accepts no other domain as its own', async () => {
    const user = await server.login();
    const identities = identitiesOf({ email_domains: ['Example.test'] });
    expect((await identities.find(person(`${user.name}@EXAMPLE.test`), calm()))?.id).toBe(user.name);
    for (const other of ['example.test.evil.test', 'evil.test', 'sub.example.test', 'evil.test@example.test']) {
      expect(await identities.find(person(`${user.name}@${other}`), calm())).toBeNull();
    }
  });

  it('finds a person by the whole e-mail address or by a table, and never guesses', async () => {
    const user = await server.login();
    const byTable = identitiesOf({ identity: { table: { 'Ana@Example.test': user.name } } });
    expect((await byTable.find(person('ana@example.test'), calm()))?.id).toBe(user.name);
    expect(await byTable.find(person(`${user.name}@example.test`), calm())).toBeNull();
    expect(await byTable.list(calm())).toContainEqual({ id: user.name, name: user.name, email: 'Ana@Example.test' });
    const byName = { id: user.name, name: user.name, email: `${user.name}@example.test` };
    expect(await identitiesOf({}).get(user.name, calm())).toEqual(byName);
    // With two domains, the login may belong to either person.
    const several = identitiesOf({ email_domains: ['example.test', 'example.org'] });
    const addresses = [`${user.name}@example.test`, `${user.name}@example.org`];
    expect(await several.get(user.name, calm())).toMatchObject({ email: user.name, addresses });
    const byEmail = identitiesOf({ identity: 'email' });
    expect(await byEmail.find(person(`${user.name}@example.test`), calm())).toBeNull();
  });

  it('never offers the connector’s own user', async () => {
    const mine = await server.login('superuser');
    const identities = identitiesOf({ url: server.url(mine) });
    expect(await identities.find(person(`${mine.name}@example.test`), calm())).toBeNull();
    expect((await identities.list(calm())).map(({ id }) => id)).not.toContain(mine.name);
  });

  it('lists roles with groups first, described, and addressed without credentials', async () => {
    const [user, group] = [await server.login(), await server.role()];
    await server.admin.unsafe(`comment on role ${group} is 'Reads reports'`);
    const client = postgresConnector.create(
      postgresConnector.config.parse({ url: server.url(), email_domains: ['example.test'] }),
      { now: Date.now, log: () => {} },
    );
    clients.push(client);
    const roles = (await client.authorizer?.roles(calm())) ?? [];
    expect(roles).toContainEqual({
      name: group,
      arn: `postgres://${server.database}/${group}`,
      description: 'Reads reports',
    });
    const names = roles.map(({ name }) => name);
    expect(names.indexOf(group)).toBeLessThan(names.indexOf(user.name));
  });

  it('rejects a configuration without a user or a database, or with a person twice', () => {
    const refused = [
      { email_domains: ['x.test'] },
      { url: 'mysql://a@b/c', email_domains: ['x.test'] },
      { url: 'postgres://host/database', email_domains: ['x.test'] },
      { url: 'postgres://user@host/', email_domains: ['x.test'] },
      // The same local part at any domain would be the same database user.
      { url: 'postgres://user@host/database' },
      { url: 'postgres://user@host/database', identity: 'username' },
      { url: 'postgres://user@host/database', identity: 'username', email_domains: [] },
      { url: 'postgres://user@host/database', identity: 'username', email_domains: ['*'] },
      { url: 'postgres://user@host/database', identity: 'guess' },
      { url: 'postgres://user@host/database', identity: { table: { 'İvan@x.test': 'ivan' } } },
      { url: 'postgres://user@host/database', identity: { table: { ivan: 'ivan' } } },
      { url: 'postgres://user@host/database', identity: { table: { 'a@x.test': 'a', 'A@x.test': 'b' } } },
      { url: 'postgres://user@host/database', email_domains: ['x.test'], unknown: true },
    ];
    for (const config of refused) expect(postgresConnector.config.safeParse(config).success).toBe(false);
    const sound = { url: 'postgres://user@host/database', email_domains: ['x.test'] };
    expect(postgresConnector.config.safeParse(sound).success).toBe(true);
    expect(postgresConnector.config.safeParse({ ...sound, email_domains: undefined }).error?.issues).toMatchObject([
      { path: ['email_domains'], message: expect.stringContaining('list the domains of your people') },
    ]);
  });
});
