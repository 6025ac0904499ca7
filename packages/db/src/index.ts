export * from './client.js';
export { isClosed } from './close-database.js';
export { commitWith } from './commit-with.js';
export { createClient } from './connect.js';
export * from './in-order.js';
export * from './listen.js';
export * from './migrate.js';
export * from './schema/index.js';
export { type Turn, takeTurn, tryTurn } from './turns.js';
