/** The part of the API that agent and client mode run with: the same declarations, answered by what is on this machine. */
export type { ErrorBody, PublishedError } from './errors.js';
export { errorTable, isForeseen, publishError, withIssues } from './errors.js';
export { agentRouter, clientRouter, type LocalRouter } from './local/roots.js';
export type { LocalRequestContext } from './local/trpc.js';
export type { DeclaredOperation } from './operations.js';
export { listOperations } from './operations.js';
