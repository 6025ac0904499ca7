import type { ReadyConnector } from '../port.js';
import { createAuthorizer } from './authorizer.js';
import { addressOf, connectionOf, type PostgresConfig, postgresConfig } from './config.js';
import { openDatabase } from './database.js';
import { createIdentities } from './identities.js';
import { findObstacles } from './obstacles.js';
import { planMemberships } from './plan.js';
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
