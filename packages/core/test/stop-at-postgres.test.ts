import { randomUUID } from 'node:crypto';
import { listAllAccess, revokeAccess, stopUser, upsertUser } from '@belay/core';
import { type Connector, postgresConnector } from '@belay/providers';
import { newId } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestServer, type TestServer } from '../../providers/test/postgres/server.js';
import { ask, type Cast, catalogWith, minute, openCast, statusOf } from './support/stories.js';

const later = [{ pause: { wait: 'PT1H' } }, { grant: { call: 'access.grant' } }];

let cast: Cast;
let server: TestServer;
let role: string;
let login: string;
let connector: string;
async function open(domains: string[]): Promise<void> {
  server = await openTestServer();
  role = await server.role();
  login = (await server.login()).name;
  connector = `connector_${randomUUID().slice(0, 8)}`;
  await server.admin.unsafe(`create role ${connector} login createrole password 'secret'`);
  await server.admin.unsafe(`grant ${role} to ${connector} with admin true, inherit false, set false`);
  const target = {
    provider: 'postgres',
    // The name of a login is the part of the address before the @, which is the default of the connector.
    config: { url: server.url({ name: connector, password: 'secret' }), email_domains: domains },
  };
  const catalog = catalogWith(
    { later },
    {
      providers: ['target'],
      inherits: [`target:${role}`],
      permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } },
    },
  );
  cast = await openCast({
    catalog: { ...catalog, providers: { target } },
    connectors: [postgresConnector as Connector],
  });
}
afterEach(async () => {
  await cast?.[Symbol.asyncDispose]();
  await server.admin.unsafe(`drop owned by ${connector} cascade`);
  await server.admin.unsafe(`drop role ${connector}`);
  await server.close();
});

/** Stores a person whose address at a domain starts with the name of the login. Sign-in providers have ids of their own for people. */
async function known(domain: string, groups: string[] = []) {
  const email = `${login}@${domain}`;
  const person = { id: newId(), provider: 'login', subject: `U-${domain}`, email, name: 'Somebody', groups };
  return upsertUser(cast.house.database.db, person);
}

async function holds(): Promise<boolean> {
  const found = await server.admin`
    select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles i on i.oid = m.member
    where r.rolname = ${role} and i.rolname = ${login}`;
  return found.length > 0;
}

const stop = (domain: string) => stopUser(cast.house.operator(), { user: `${login}@${domain}`, reason: 'has left' });

describe.each([
  ['one domain', ['example.com']],
  ['several domains', ['example.com', 'example.org']],
])('access that a colleague requested for a login role of PostgreSQL, by its name, with %s', (_, domains) => {
  beforeEach(async () => {
    await open(domains);
    for (const domain of domains) await known(domain);
  });

  it.each(domains)('ends when the person at %s is stopped', async (domain) => {
    await ask(cast.house, cast.ada, { workflow: 'automatic', identities: [login] });
    expect(await holds()).toBe(true);
    await stop(domain);
    await cast.house.work();
    expect(await holds()).toBe(false);
  });

  it.each(domains)('is revoked with the access of the person at %s', async (domain) => {
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic', identities: [login] });
    const user = `${login}@${domain}`;
    expect((await listAllAccess(cast.house.operator(), { user })).access).toMatchObject([{ execution_id: id }]);
    const { revoked } = await revokeAccess(cast.house.operator(), { user, reason: 'an incident' });
    await cast.house.work();
    expect([revoked.length, await holds()]).toEqual([1, false]);
  });

  it.each(domains)('is not granted later when the person at %s is stopped while the request waits', async (domain) => {
    const id = await ask(cast.house, cast.ada, { workflow: 'later', identities: [login] });
    await stop(domain);
    await cast.house.pass(61 * minute);
    expect([await holds(), await statusOf(cast.ada, id)]).toEqual([false, 'terminated']);
  });

  it.each(domains)('is not granted when the person at %s is stopped before its approval', async (domain) => {
    const id = await ask(cast.house, cast.ada, { identities: [login] });
    await stop(domain);
    await cast.house.work();
    expect([await holds(), await statusOf(cast.ada, id)]).toEqual([false, 'terminated']);
  });
});
