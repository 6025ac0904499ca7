export * from './errors.js';
export { type LanguageModel, openLanguageModel } from './llm/open.js';
export { oidcConnector } from './oidc/connector.js';
export * from './port.js';
export { postgresConnector } from './postgres/connector.js';
export * from './registry.js';
