import { afterEach, beforeEach, it } from 'vitest';
import { hostileVariables } from '../../../providers/test/mysql/hostile-variables.js';
import { type MysqlServer, openServer } from '../../../providers/test/mysql/server.js';
import { type Hostile, openHostile, tellStory } from './hostile-story.js';

let hostile: Hostile;
let server: MysqlServer;
beforeEach(async () => {
  hostile = await openHostile();
  server = await openServer();
});
afterEach(async () => {
  await server?.close();
  await hostile[Symbol.asyncDispose]();
});

it('grants on approval and ends on time where every default of its database and of a MariaDB is hostile', async () => {
  const role = await server.role('app_read');
  await server.login('rita');
  for (const [name, value] of Object.entries(hostileVariables))
    await server.admin.query(`set global ${name} = ${value}`);
  await tellStory(hostile, {
    provider: `    provider: mysql
    config: { url: '\${env:TARGET_URL}', email_domains: [example.com] }`,
    role,
    variables: { TARGET_URL: server.url },
    async holds() {
      const [rows] = await server.admin.query(
        "select 1 from mysql.roles_mapping where Role = 'app_read' and User = 'rita'",
      );
      return (rows as unknown[]).length > 0;
    },
  });
});
