/**
 * Agent and client mode, without anything of the server's: what `belay agent` loads. The heavy half of each is imported
 * when it runs.
 */

export { type EnrolledAgent, type EnrolOptions, enrolAgent } from './agent/enrol.js';
export { defaultAgentPort, type LocalEnvironment, parseLocalEnvironment } from './agent/environment.js';
export { runAgent } from './agent/run.js';
export { type AgentStatus, readAgentStatus } from './agent/status.js';
