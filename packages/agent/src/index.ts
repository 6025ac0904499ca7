export { agentRouter, clientRouter, type LocalRouter } from './routers/roots.js';
export type { LocalRequestContext } from './routers/trpc.js';
export { acceptConfiguration, acceptSync, compareVersions, type LocalConfiguration } from './verbs/configuration.js';
export { localPerson, serverNow } from './verbs/person.js';
export type {
  ConfigurationSource,
  ExchangedSession,
  KeptSession,
  LocalContext,
  LocalLedger,
  LocalLogEntry,
  LocalLogins,
  SessionStore,
  Upstream,
} from './verbs/ports.js';
export { completeLocalLogin, keepLocalSession } from './verbs/sessions.js';
export { describeLocal } from './verbs/system.js';
