import { createRegistry, oauth2Connector, oidcConnector, postgresConnector, samlConnector } from '@belay/providers';

/** Every type of provider that a configuration can name. */
export const connectors = createRegistry([oauth2Connector, oidcConnector, postgresConnector, samlConnector]);
