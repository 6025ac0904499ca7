export { StartError } from '@belay/program';
/** Agent and client mode, which `belay agent` and BELAY_MODE load. Most of the code of each is imported only when it runs. */

export { enrolAgent } from './enrol.js';
export { type LocalEnvironment, parseLocalEnvironment } from './environment.js';
export { runAgent } from './run.js';
export { type AgentStatus, readAgentStatus } from './status.js';
