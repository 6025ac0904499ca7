import { type Connector, mysqlConnector } from '@belay/providers';
import { openServer } from '../../providers/test/mysql/server.js';
import { namesAt } from './support/names-at.js';

namesAt('MariaDB', async () => {
  const server = await openServer();
  const [role, { user }] = [await server.role(), await server.login('ada')];
  return {
    connector: mysqlConnector as Connector,
    provider: { provider: 'mysql', config: { url: server.url, email_domains: ['example.com'] } },
    role: { inherits: [`target:${role}`] },
    async holds() {
      const [rows] = await server.admin.query('select 1 from mysql.roles_mapping where Role = ? and User = ?', [
        role,
        user,
      ]);
      return (rows as unknown[]).length > 0;
    },
    raise: async () => void (await server.admin.query(`grant create user on *.* to \`${role}\``)),
    [Symbol.asyncDispose]: () => server.close(),
  };
});
