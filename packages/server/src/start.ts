import { isUnreachable } from '@belay/contract/outage';
import { explainOutage } from '@belay/operations';
import { createClosing, StartError } from '@belay/program';
import type { RunningServer, StartOptions } from './modes/server.js';
import { composeServer } from './modes/server.js';

/**
 * Starts Belay in server mode. A failed start first stops everything that was started. Then it throws `StartError` with
 * one line that names the cause and the fix, or an unexpected error unchanged.
 */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const closing = createClosing(options.log);
  try {
    return await composeServer(options, closing);
  } catch (error) {
    await closing.close();
    const { databaseUrl } = options.environment;
    if (error instanceof StartError || databaseUrl === undefined || !isUnreachable(error)) throw error;
    throw new StartError(explainOutage(databaseUrl, error), { cause: error });
  }
}
