export { type AuthenticatorSubject, authenticatorConformance } from './authenticator-conformance.js';
export { type ByNames, byNames, type NamedEntitlement } from './by-names.js';
export { type ConformanceSubject, conformance } from './conformance.js';
export {
  type Attack,
  type Foothold,
  type HostileHolder,
  type HostileSubject,
  hostileHolder,
  type Seat,
  type TestRunner,
} from './hostile-holder.js';
export { createMemoryConnector, type MemoryConfig, signHook } from './memory.js';
export {
  createMemoryProvider,
  type MemoryCall,
  type MemoryChange,
  type MemoryFault,
  type MemoryOperation,
  type MemoryProvider,
  type MemoryProviderOptions,
  type Operation,
} from './provider.js';
export type { AtProvider, Ending } from './provider-conformance.js';
