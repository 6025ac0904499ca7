/** What the API shares with agent and client mode: the declarations of every mode. */
export { declaredAuth } from './declared/auth.js';
export { declaredConfiguration } from './declared/configuration.js';
export { declaredLogs } from './declared/logs.js';
export { declaredProviders } from './declared/providers.js';
export { declaredRoles } from './declared/roles.js';
export { declaredSessions, sessionSummary } from './declared/sessions.js';
export { declaredSystem } from './declared/system.js';
export { declaredWorkflows } from './declared/workflows.js';
export { next, paging } from './paging.js';
export type { Reply } from './request-context.js';
export { instant, name, opaque } from './text.js';
