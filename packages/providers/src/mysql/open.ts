import type { ConnectorTools, ProviderClient } from '../port.js';
import { createAuthorizer } from './authorizer.js';
import type { MysqlConfig } from './config.js';
import { openDatabase } from './database.js';
import { createIdentities } from './identities.js';
import { findObstacles } from './obstacles.js';
import { checkSetup, findWeaknesses } from './setup.js';

/** Opens the client of a server. */
export function openMysql(config: MysqlConfig, tools: ConnectorTools): ProviderClient {
  const database = openDatabase(config);
  return {
    authorizer: createAuthorizer(config, database, tools),
    identities: createIdentities(config, database),
    check: (signal) => database.use(signal, checkSetup),
    weaknesses: (signal) => database.use(signal, findWeaknesses),
    obstacles: (accesses, signal) => database.use(signal, (sql) => findObstacles(sql, { accesses, config })),
    close: () => database.close(),
  };
}
