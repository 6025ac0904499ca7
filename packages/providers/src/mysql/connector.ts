import type { Connector } from '../port.js';
import { type MysqlConfig, mysqlConfig, readUrl } from './config.js';
import { planGrants } from './plan.js';

/** The connector for MariaDB, and as an experiment MySQL 8: roles that are granted to accounts. */
export const mysqlConnector: Connector<MysqlConfig> = {
  type: 'mysql',
  description: 'MariaDB, and MySQL as an experiment: roles of the server',
  capabilities: ['authorizer', 'identities'],
  config: mysqlConfig,
  plan: planGrants,
  address({ url }) {
    const { host, port } = readUrl(url);
    return `${host}:${port}`;
  },
  connection({ url }, { identity }) {
    const { host, port } = readUrl(url);
    // The part behind the last @ is where the account may connect from.
    const user = identity.replace(/@[^@]*$/, '');
    return { variables: { MYSQL_HOST: host, MYSQL_TCP_PORT: String(port), MYSQL_USER: user } };
  },
  create: async (config, tools) => (await import('./open.js')).openMysql(config, tools),
};
