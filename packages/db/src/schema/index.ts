export * from './access.js';
export * from './agents.js';
export * from './approvals.js';
export * from './catalogs.js';
export * from './executions.js';
export * from './ledger.js';
export * from './people.js';
export * from './sessions.js';
