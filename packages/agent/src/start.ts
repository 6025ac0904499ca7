import type { Logger } from '@belay/core/agent';
import { createClosing } from '@belay/program';
import { composeAgent } from './compose-agent.js';
import { composeClient } from './compose-client.js';
import { explainDisk } from './disk.js';
import type { LocalEnvironment } from './environment.js';

export interface StartAgentOptions {
  environment: LocalEnvironment;
  log: Logger;
  /** The environment of the process, for what finds the keyring of the desktop. */
  variables: Record<string, string | undefined>;
}

export interface RunningAgent {
  url: string;
  mode: 'agent' | 'client';
  /** What a start says. */
  banner: string;
  /** Asks the server for its configuration now. Never rejects. */
  sync(): Promise<void>;
  /** Begins a sign-in from within this process: where to go, and the code for POST /sessions. */
  beginLogin(provider?: string): { url: string; code: string };
  stop(): Promise<void>;
}

/** Starts agent or client mode. Throws `StartError` with one line; then nothing that it started runs any more. */
export async function startAgent(options: StartAgentOptions): Promise<RunningAgent> {
  const closing = createClosing(options.log);
  try {
    return await (options.environment.mode === 'agent' ? composeAgent : composeClient)(options, closing);
  } catch (error) {
    await closing.close();
    throw explainDisk(error, options.environment.dataDirectory);
  }
}
