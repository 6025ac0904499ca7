export { isInner, isOwn } from './addresses.js';
export { awsConnector } from './aws/connector.js';
export { emailConnector } from './email/connector.js';
export { emailDomain } from './endpoint.js';
export { entraConnector } from './entra/connector.js';
export { Disabled, LeftToOthers, OtherTarget, Pending, Renamed, Retryable, TargetDoubted, Terminal } from './errors.js';
export { gcpConnector } from './gcp/connector.js';
export { githubConnector } from './github/connector.js';
export type { Course, History, Sighting, Trust } from './history.js';
export { saidBy } from './http/answer.js';
export { readBounded, remake } from './http/bounded-fetch.js';
export { type Budget, createBudget, type Pause } from './http/budget.js';
export { urgently } from './http/urgency.js';
export { kubernetesConnector } from './kubernetes/connector.js';
export { ldapConnector } from './ldap/connector.js';
export { languageModelConfig } from './llm/config.js';
export { type LanguageModel, openLanguageModel } from './llm/open.js';
export { type LocalVault, openLocalVault } from './local/vault.js';
export { mysqlConnector } from './mysql/connector.js';
export type {
  Action,
  Fact,
  HookActor,
  HookDecision,
  HookRequest,
  Json,
  Message,
  Notifications,
  Receipt,
  Received,
  Verdict,
} from './notifications.js';
export { oauth2Connector } from './oauth2/connector.js';
export { oidcConnector } from './oidc/connector.js';
export { oktaConnector } from './okta/connector.js';
export {
  type Access,
  type AccessRequest,
  type Authenticated,
  type Authenticator,
  type AuthorizationRequest,
  type Authorizer,
  type Capability,
  type Connector,
  type ConnectorTools,
  capabilities,
  type Entitlement,
  type Expiry,
  type GrantedEntitlement,
  type Held,
  type Identities,
  type ListedEntitlement,
  type Login,
  mostListed,
  type Named,
  type Obstacle,
  type Person,
  type Pin,
  type Plan,
  type PlanIssue,
  type ProviderClient,
  type ProviderIdentity,
  type ProviderPermission,
  type ProviderRole,
  type ProviderTokens,
  type ReadyConnector,
  type Refreshed,
  type RefreshRequest,
  type SharedConnection,
  type ToldLogout,
  type ToldPerson,
  type Weakness,
} from './port.js';
export { postgresConnector } from './postgres/connector.js';
export { type ConnectorRegistry, createRegistry } from './registry.js';
export { samlConnector } from './saml/connector.js';
export { encryptionConfig, vaultConfig } from './services/config.js';
export { openEncryptionService, openVaultService } from './services/open.js';
export type {
  EncryptionService,
  LocalKey,
  LocalTools,
  SecretName,
  ServiceTools,
  VaultFile,
  VaultService,
} from './services/port.js';
export { slackConnector } from './slack/connector.js';
export { webhookConnector } from './webhook/connector.js';
export { within } from './within.js';
