import { randomUUID } from 'node:crypto';
import { type Connector, postgresConnector } from '@belay/providers';
import { openTestServer } from '../../providers/test/postgres/server.js';
import { driftAt } from './support/drift-at.js';

driftAt('PostgreSQL', async () => {
  const server = await openTestServer();
  const { admin } = server;
  const [role, ada, other] = [await server.role(), await server.login(), await server.login()];
  const connector = `connector_${randomUUID().slice(0, 8)}`;
  await admin.unsafe(`create role ${connector} login createrole password 'secret'`);
  await admin.unsafe(`grant ${role} to ${connector} with admin true, inherit false, set false`);
  const holds = async (member: string) =>
    (
      await admin`select from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles i on i.oid = m.member
        where r.rolname = ${role} and i.rolname = ${member}`
    ).length > 0;
  const put = (member: string) => admin.unsafe(`grant ${role} to ${member} granted by ${connector}`);
  const remove = (member: string) => admin.unsafe(`revoke ${role} from ${member} granted by ${connector}`);
  return {
    connector: postgresConnector as Connector,
    provider: {
      provider: 'postgres',
      config: {
        url: server.url({ name: connector, password: 'secret' }),
        identity: { table: { 'ada@example.com': ada.name } },
      },
    },
    role: { inherits: [`target:${role}`] },
    marks: false,
    holds: () => holds(ada.name),
    remove: async () => void (await remove(ada.name)),
    putBack: async () => void (await put(ada.name)),
    async stranger() {
      await put(other.name);
      return { holds: () => holds(other.name), remove: async () => void (await remove(other.name)) };
    },
    async [Symbol.asyncDispose]() {
      await admin.unsafe(`drop owned by ${connector} cascade`);
      await admin.unsafe(`drop role ${connector}`);
      await server.close();
    },
  };
});
