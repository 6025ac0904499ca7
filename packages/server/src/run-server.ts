import { parseEnvironment } from '@belay/operations/environment';
import type { ProcessLike } from '@belay/program';
import { createLogger, delay, oneLine, StartError } from '@belay/program';
import { describeServer } from './banner.js';
import type { RunningServer, StartOptions } from './modes/server.js';

/** The time limit of a stop, in milliseconds, in addition to `BELAY_DRAIN_SECONDS`. */
const longestStop = 10_000;

/**
 * Runs server mode until a signal ends it. A failed start writes the cause as one line to stderr and exits with 1. The first
 * SIGINT or SIGTERM stops gracefully within `BELAY_DRAIN_SECONDS` plus ten seconds, the second at once. SIGHUP reloads the
 * configuration.
 */
export async function runServerMode(host: ProcessLike, openDemo: StartOptions['openDemo']): Promise<void> {
  let server: RunningServer | undefined;
  let stopping = false;
  let drainSeconds = 0;
  // Registered before the start: a signal during the start must not leave parts of it running.
  const stop = () => {
    if (stopping) host.exit(1);
    stopping = true;
    if (server) void finish(server);
  };
  async function finish(running: RunningServer): Promise<void> {
    const outcome = await Promise.race([
      running.stop().then(() => 0),
      delay(longestStop + drainSeconds * 1_000).then(() => 1),
    ]);
    host.exit(outcome);
  }
  host.on('SIGINT', stop);
  host.on('SIGTERM', stop);
  host.on('SIGHUP', () => void server?.reload());
  try {
    const environment = parseEnvironment(host.env);
    drainSeconds = environment.drainSeconds;
    const log = createLogger({
      level: environment.logLevel,
      readable: host.stdout.isTTY === true,
      write: (line) => void host.stdout.write(line),
    });
    // Stack traces in the log name the lines of the sources, not of the bundle.
    process.setSourceMapsEnabled(true);
    // Loaded only here, so that errors of variables are reported without loading everything.
    const { startServer } = await import('./start.js');
    server = await startServer({ environment, variables: host.env, directory: host.cwd(), log, openDemo });
    if (stopping) return await finish(server);
    host.stdout.write(describeServer(server));
  } catch (error) {
    host.stderr.write(`belay: ${explain(error)}\n`);
    host.exit(1);
  }
}

function explain(error: unknown): string {
  if (error instanceof StartError) return oneLine(error);
  return `the start failed unexpectedly (${oneLine(error)}); please report this bug with the output of LOG_LEVEL=debug`;
}
