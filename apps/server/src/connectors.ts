import { createRegistry, oidcConnector, postgresConnector } from '@belay/providers';

/** Every type of provider that a configuration can name. */
export const connectors = createRegistry([oidcConnector, postgresConnector]);
