import { createClosing } from '@belay/program';
import { composeAgent } from './compose-agent.js';
import { composeClient } from './compose-client.js';
import { explainDisk } from './data-folder.js';
import type { RunningAgent, StartAgentOptions } from './open-machine.js';

/** Starts agent or client mode. Throws `StartError` with one line, after stopping all parts that were already started. */
export async function startAgent(options: StartAgentOptions): Promise<RunningAgent> {
  const closing = createClosing(options.log);
  try {
    return await (options.environment.mode === 'agent' ? composeAgent : composeClient)(options, closing);
  } catch (error) {
    await closing.close();
    throw explainDisk(error, options.environment.dataDirectory);
  }
}
