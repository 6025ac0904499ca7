export * from './errors.js';
export * from './port.js';
export { postgresConnector } from './postgres/connector.js';
export * from './registry.js';
