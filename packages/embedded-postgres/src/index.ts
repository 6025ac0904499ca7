export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from './embedded-postgres-error.js';
export { inspectCluster } from './inspect-cluster.js';
export { type EmbeddedPostgres, type StartEmbeddedPostgresOptions, startEmbeddedPostgres } from './postgres.js';
export { startTemporaryPostgres } from './start-temporary-postgres.js';
