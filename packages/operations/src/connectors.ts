import {
  type Connector,
  createRegistry,
  kubernetesConnector,
  oauth2Connector,
  oidcConnector,
  postgresConnector,
  samlConnector,
} from '@belay/providers';

/** Every type of provider that a configuration can name. */
export const connectors = createRegistry([
  kubernetesConnector as Connector,
  oauth2Connector,
  oidcConnector,
  postgresConnector,
  samlConnector,
]);
