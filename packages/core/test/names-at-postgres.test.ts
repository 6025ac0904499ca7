import { type Connector, postgresConnector } from '@belay/providers';
import { openTestServer } from '../../providers/test/postgres/server.js';
import { namesAt } from './support/names-at.js';

namesAt('PostgreSQL', async () => {
  const server = await openTestServer();
  const { admin } = server;
  const [role, ada] = [await server.role(), await server.login()];
  let [roleName, name] = [role, ada.name];
  const member = await admin`select r.oid as role, i.oid as identity from pg_roles r, pg_roles i
    where r.rolname = ${role} and i.rolname = ${ada.name}`;
  const [ids] = member;
  const providerOf = (login: string) => ({
    provider: 'postgres',
    config: { url: server.url(), identity: { table: { 'ada@example.com': login } } },
  });
  return {
    connector: postgresConnector as Connector,
    provider: providerOf(name),
    role: { inherits: [`target:${role}`] },
    holds: async () =>
      (await admin`select from pg_auth_members where roleid = ${ids?.role} and member = ${ids?.identity}`).length > 0,
    async rename() {
      const [to, login] = [`${roleName}_r`, `${name}_r`];
      await admin.unsafe(`alter role ${roleName} rename to ${to}; alter role ${name} rename to ${login}`);
      [roleName, name] = [to, login];
      return { provider: providerOf(login), role: { inherits: [`target:${to}`] } };
    },
    raise: async () => void (await admin.unsafe(`alter role ${roleName} createrole`)),
    async [Symbol.asyncDispose]() {
      if (roleName !== role) await admin.unsafe(`alter role ${roleName} rename to ${role}`);
      if (name !== ada.name) await admin.unsafe(`alter role ${name} rename to ${ada.name}`);
      await server.close();
    },
  };
});
