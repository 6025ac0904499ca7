/** The part of the API that agent and client mode run with: the same declarations, answered by what is on this machine. */
export { agentRouter, clientRouter, type LocalRouter } from './local/roots.js';
export type { LocalRequestContext } from './local/trpc.js';
