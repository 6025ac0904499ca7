/** The part of core that agent and client mode run with: no database, no provider, no workflow. */
export * from './absolute-url.js';
export * from './actor.js';
export * from './agents/signature.js';
export * from './audience.js';
export * from './can.js';
export * from './canonical.js';
export * from './context.js';
export * from './outage.js';
export * from './paging.js';
export * from './version.js';
