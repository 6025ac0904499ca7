export { EmbeddedPostgresError } from './embedded-postgres-error.js';
export { type EmbeddedPostgres, type StartEmbeddedPostgresOptions, startEmbeddedPostgres } from './postgres.js';
export { startTemporaryPostgres } from './start-temporary-postgres.js';
