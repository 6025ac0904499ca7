import {
  type Connector,
  createRegistry,
  kubernetesConnector,
  ldapConnector,
  oauth2Connector,
  oidcConnector,
  postgresConnector,
  samlConnector,
} from '@belay/providers';

/** Every type of provider that a configuration can name. */
export const connectors = createRegistry([
  kubernetesConnector as Connector,
  ldapConnector,
  oauth2Connector,
  oidcConnector,
  postgresConnector,
  samlConnector,
]);
