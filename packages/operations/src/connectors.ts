import {
  awsConnector,
  type Connector,
  createRegistry,
  emailConnector,
  gcpConnector,
  githubConnector,
  kubernetesConnector,
  ldapConnector,
  mysqlConnector,
  oauth2Connector,
  oidcConnector,
  oktaConnector,
  postgresConnector,
  samlConnector,
  webhookConnector,
} from '@belay/providers';

/** Every type of provider that a configuration can name. */
export const connectors = createRegistry([
  emailConnector as Connector,
  awsConnector as Connector,
  gcpConnector as Connector,
  githubConnector,
  kubernetesConnector as Connector,
  ldapConnector,
  mysqlConnector as Connector,
  oauth2Connector,
  oidcConnector,
  oktaConnector,
  postgresConnector,
  samlConnector,
  webhookConnector,
]);
