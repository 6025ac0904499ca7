export * from './authenticator-conformance.js';
export * from './conformance.js';
export * from './hostile-holder.js';
export * from './memory.js';
export * from './provider.js';
export type { AtProvider, Ending } from './provider-conformance.js';
