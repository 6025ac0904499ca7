import type { ProcessLike } from '@belay/program';
import type { StartOptions } from './modes/server.js';

/**
 * Runs Belay in the mode of BELAY_MODE until a signal ends it. The code of a mode is loaded only when the mode is known, so
 * that an agent loads no code of the server. A server without a configuration runs the demo of `openDemo`.
 */
export async function runServer(host: ProcessLike, openDemo?: StartOptions['openDemo']): Promise<void> {
  const { BELAY_MODE: mode } = host.env;
  if (mode === 'agent' || mode === 'client') return (await import('@belay/agent')).runAgent(host);
  return (await import('./run-server.js')).runServerMode(host, openDemo);
}
