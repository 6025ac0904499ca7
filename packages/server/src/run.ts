import type { ProcessLike } from '@belay/program';
import type { StartOptions } from './modes/server.js';

/**
 * Runs Belay in the mode that BELAY_MODE names until a signal ends it. Nothing is loaded before the mode is known: an agent
 * loads nothing of the server's. Without a configuration a server runs the demo that it is given.
 */
export async function runServer(host: ProcessLike, openDemo?: StartOptions['openDemo']): Promise<void> {
  const { BELAY_MODE: mode } = host.env;
  if (mode === 'agent' || mode === 'client') return (await import('@belay/agent')).runAgent(host);
  return (await import('./run-server.js')).runServerMode(host, openDemo);
}
