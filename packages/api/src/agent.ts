/** What the API shares with agent and client mode beside the contract: what a procedure says about its response. */
export type { Reply } from './request-context.js';
