import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Connector, Plan } from '../port.js';
import { isPossibleName, longestName, type MysqlConfig, mysqlConfig, readUrl } from './config.js';

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

/** The characters that occur in names of roles; a name with other characters is a mistake or an attack. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9_.$+ -]*$/;

/** Returns one access for each requested role of the server. Returns all errors together; never throws. */
function planGrants(_config: MysqlConfig, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly: 'is not supported: privileges are granted to roles of the server, so inherit a role that has them',
    atLeastOne: 'must name at least one role of the server',
    faultOf: (role) =>
      plainName.test(role) && isPossibleName(role)
        ? undefined
        : `is not a valid name of a role: use at most ${longestName} letters, digits, spaces and _ . $ + -`,
    accessOf: (role) => ({ role }),
  });
}
