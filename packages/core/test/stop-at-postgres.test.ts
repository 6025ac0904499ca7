import { randomUUID } from 'node:crypto';
import { revokeAccess, stopUser, upsertUser } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { approvalCatalog, newId } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { ask, type Cast, openCast } from './support/stories.js';

describe('access that a colleague requested for a login role of PostgreSQL, by its name', () => {
  let cast: Cast;
  let server: TestServer;
  let role: string;
  let login: string;
  let connector: string;
  beforeEach(async () => {
    server = await openTestServer();
    role = await server.role();
    login = (await server.login()).name;
    connector = `connector_${randomUUID().slice(0, 8)}`;
    await server.admin.unsafe(`create role ${connector} login createrole password 'secret'`);
    await server.admin.unsafe(`grant ${role} to ${connector} with admin true, inherit false, set false`);
    const target = {
      provider: 'postgres',
      // Logins are the parts of addresses before the @, which is the default of the connector.
      config: { url: server.url({ name: connector, password: 'secret' }), email_domains: ['example.com'] },
    };
    const catalog = approvalCatalog({
      role: {
        providers: ['target'],
        inherits: [`target:${role}`],
        permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } },
      },
    });
    cast = await openCast({
      catalog: { ...catalog, providers: { target } },
      connectors: [postgresConnector as Connector],
      time: null,
    });
    const email = `${login}@example.com`;
    // Sign-in providers have ids of their own for people.
    const person = { id: newId(), provider: 'login', subject: 'U-42', email, name: 'Somebody', groups: [] };
    await upsertUser(cast.house.database.db, person);
    await ask(cast.house, cast.ada, { workflow: 'automatic', identities: [login] });
    expect(await holds()).toBe(true);
  });
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    await server.admin.unsafe(`drop owned by ${connector} cascade`);
    await server.admin.unsafe(`drop role ${connector}`);
    await server.close();
  });

  async function holds(): Promise<boolean> {
    const found = await server.admin`
      select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles i on i.oid = m.member
      where r.rolname = ${role} and i.rolname = ${login}`;
    return found.length > 0;
  }

  it('ends when the person is stopped', async () => {
    await stopUser(cast.house.operator(), { user: `${login}@example.com`, reason: 'has left' });
    await cast.house.work();
    expect(await holds()).toBe(false);
  });

  it('is revoked with the access of the person', async () => {
    const { revoked } = await revokeAccess(cast.house.operator(), {
      user: `${login}@example.com`,
      reason: 'an incident',
    });
    await cast.house.work();
    expect([revoked.length, await holds()]).toEqual([1, false]);
  });
});
