export { StartError } from '@belay/program';
/** Agent and client mode: what `belay agent` and BELAY_MODE load. The heavy half of each is imported when it runs. */

export { enrolAgent } from './enrol.js';
export { type LocalEnvironment, parseLocalEnvironment } from './environment.js';
export { runAgent } from './run.js';
export { type AgentStatus, readAgentStatus } from './status.js';
