/** The part of core that agent and client mode run with: no database, no provider, no workflow. */
export * from './absolute-url.js';
export * from './actor.js';
export * from './agents/local/catalog.js';
export * from './agents/local/configuration.js';
export * from './agents/local/person.js';
export * from './agents/local/ports.js';
export * from './agents/local/sessions.js';
export * from './agents/local/system.js';
export * from './agents/signature.js';
export * from './canonical.js';
export * from './context.js';
export * from './errors.js';
export * from './outage.js';
export * from './path-text.js';
