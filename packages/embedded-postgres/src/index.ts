export type { EmbeddedPostgres, StartEmbeddedPostgresOptions } from './bring-up.js';
export { EmbeddedPostgresError, type EmbeddedPostgresErrorCode } from './embedded-postgres-error.js';
export { inspectCluster } from './inspect-cluster.js';
export { startEmbeddedPostgres } from './postgres.js';
export { startTemporaryPostgres } from './start-temporary-postgres.js';
