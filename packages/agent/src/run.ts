import { setFlagsFromString } from 'node:v8';
import type { ProcessLike } from '@belay/program';
import { createLogger, delay, oneLine, StartError } from '@belay/program';
import { parseLocalEnvironment } from './environment.js';
import type { RunningAgent } from './open-machine.js';

/** How long a stop may take, in milliseconds. */
const longestStop = 8_000;

/**
 * Runs agent or client mode (`BELAY_MODE`) until a signal ends it. A failed start prints the reason on one line of stderr and exits with 1.
 * SIGINT and SIGTERM stop it within eight seconds; SIGHUP requests the configuration from the server now.
 */
export async function runAgent(host: ProcessLike): Promise<void> {
  let agent: RunningAgent | undefined;
  let stopping = false;
  const stop = () => {
    if (stopping) host.exit(1);
    stopping = true;
    if (agent) void finish(agent);
  };
  async function finish(running: RunningAgent): Promise<void> {
    host.exit(await Promise.race([running.stop().then(() => 0), delay(longestStop).then(() => 1)]));
  }
  host.on('SIGINT', stop);
  host.on('SIGTERM', stop);
  host.on('SIGHUP', () => void agent?.sync());
  try {
    const environment = parseLocalEnvironment(host.env);
    const log = createLogger({
      level: environment.logLevel,
      readable: host.stdout.isTTY === true,
      write: (line) => void host.stdout.write(line),
    });
    // Makes stack traces in the log show lines of the sources, not of the bundle.
    process.setSourceMapsEnabled(true);
    // Keeps V8's space for new objects at its initial size: it would grow to 32 MB, a quarter of the memory that an agent may use.
    setFlagsFromString('--semi-space-growth-factor=1');
    const { startAgent } = await import('./start.js');
    agent = await startAgent({ environment, log, variables: host.env });
    if (stopping) return await finish(agent);
    host.stdout.write(agent.banner);
  } catch (error) {
    host.stderr.write(
      `belay: ${error instanceof StartError ? oneLine(error) : `the start failed (${oneLine(error)})`}\n`,
    );
    host.exit(1);
  }
}
