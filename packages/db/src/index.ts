export * from './client.js';
export * from './in-order.js';
export * from './migrate.js';
export * from './schema/index.js';
