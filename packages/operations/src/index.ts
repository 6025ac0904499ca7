export { verifyArchives } from './archive/verify-archive.js';
export { openArchiveFolder } from './archive/write-archive.js';
export { applyConfiguration } from './config/apply-configuration.js';
export {
  type ConfigurationChoice,
  chooseConfiguration,
  demoSource,
  findConfiguration,
} from './config/choose-configuration.js';
export { ConfigurationError } from './config/configuration-error.js';
export { readConfiguration } from './config/read-configuration.js';
export type { References } from './config/resolve-reference.js';
export { validateConfiguration } from './config/validate-configuration.js';
export { watchConfiguration } from './config/watch-configuration.js';
export { writeConfigurationSchema } from './config/write-schema.js';
export { connectors } from './connectors.js';
export { inspectConfiguration } from './diagnose/inspect-configuration.js';
export { hasEmbeddedDatabase, inspectDatabase } from './diagnose/inspect-database.js';
export { type Environment, parseEnvironment } from './environment.js';
export { initConfiguration, listBlueprints } from './init/init-configuration.js';
export { migrateStorage } from './migrate-storage.js';
export { openConfiguredKeyring } from './open-keyring.js';
export { openStorage } from './open-storage.js';
export { accessErrorOf, openOperatorContext } from './operator.js';
export { rotateEncryption } from './operator-encryption.js';
export { listVault, removeFromVault, setInVault } from './operator-vault.js';
export { writeCaseSchema } from './policy/case-schema.js';
export { planConfiguration } from './policy/plan-configuration.js';
export { testPolicies } from './policy/test-policies.js';
export { readSecrets } from './secret.js';
export { findInstallationSecrets, openReferences, watchVault } from './services.js';
export { explainOutage, whileReachable } from './while-reachable.js';
