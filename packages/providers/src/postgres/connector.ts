import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Plan, ReadyConnector } from '../port.js';
import { createAuthorizer } from './authorizer.js';
import { addressOf, connectionOf, longestName, type PostgresConfig, postgresConfig } from './config.js';
import { openDatabase } from './database.js';
import { createIdentities } from './identities.js';
import { findObstacles } from './obstacles.js';
import { findWeaknesses } from './weaknesses.js';

/**
 * The connector for PostgreSQL 15 and newer: real membership of database roles, and termination of the sessions that
 * used it.
 */
export const postgresConnector: ReadyConnector<PostgresConfig> = {
  type: 'postgres',
  description: 'PostgreSQL: membership of database roles',
  capabilities: ['authorizer', 'identities'],
  config: postgresConfig,
  plan: planMemberships,
  address: ({ url }) => addressOf(url),
  connection: ({ url }, { identity }) => ({ variables: connectionOf(url, identity) }),
  create(config, tools) {
    const database = openDatabase(config);
    return {
      authorizer: createAuthorizer(config, database, tools),
      identities: createIdentities(config, database),
      async check(signal) {
        await database.transaction(signal, (sql) => sql`select 1`);
      },
      weaknesses: (signal) => database.read(signal, (sql) => findWeaknesses(sql, config)),
      obstacles: (accesses, signal) => database.read(signal, (sql) => findObstacles(sql, accesses, config)),
      close: () => database.close(),
    };
  },
};

/** The characters that occur in names of roles; a name with other characters is a mistake or an attack. */
const plainName = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.@$+ -]*$/u;

/** Returns one access, a membership, for each requested database role. Returns all errors together; never throws. */
function planMemberships(_config: PostgresConfig, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly:
      'PostgreSQL access is membership of database roles: grant the privileges to a role and inherit that role',
    atLeastOne: 'must name at least one database role',
    faultOf: faultOfName,
    accessOf: (role) => ({ role }),
  });
}

function faultOfName(role: string): string | undefined {
  if (Buffer.byteLength(role) > longestName)
    return `is longer than ${longestName} bytes, the limit for the name of a database role`;
  if (!plainName.test(role))
    return 'is not a valid name of a database role: use only letters, digits, spaces and _ . @ $ + -';
  return undefined;
}
