import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Hung, lastLines, type Wait, within } from './within.js';

const main = fileURLToPath(new URL('../../../apps/server/bundle/main.js', import.meta.url));
const stepClock = new URL('../../dist/step-clock.js', import.meta.url).href;

export interface BelayProcess {
  name: string;
  /** Where it serves; empty for a worker. Stays the same over restarts. */
  url: string;
  pid(): number;
  /** Kills the process with SIGKILL and starts it again. Resolves when it runs. */
  killAndRestart(): Promise<void>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Stops the process with SIGTERM, or with SIGKILL after ten seconds. */
  stop(): Promise<void>;
}

interface Options {
  name: string;
  folder: string;
  environment: Record<string, string>;
  /** The port to serve at; absent in a worker. */
  port?: number;
  /** Called when a process ends that no fault ended. The process is started again, as an operator's supervisor does. */
  onDeath(how: string): void;
  /** Called when a process that the supervisor started again neither becomes ready nor ends. */
  onHang(error: Error): void;
  /** The clock of the limits; a real one by default. */
  wait?: Wait;
}

/** How much of the output of a process is kept, in characters. */
const kept = 4_000;

/**
 * Returns a server or a worker as an operator runs it, with its log in the folder, and a supervisor that starts it
 * again. Throws with the name of the process and the last lines of its output when it does not start, or when it
 * neither becomes ready nor ends within a minute.
 */
export async function startBelay(options: Options): Promise<BelayProcess> {
  const { name, folder, port, wait } = options;
  let said = '';
  const limit = (work: Promise<unknown>, what: string) =>
    within(work, `${name} ${what}`, { said: async () => said, wait });
  let child: ChildProcess | undefined;
  let wanted = true;
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    BELAY_DATA: join(folder, '.belay'),
    ...options.environment,
    ...(port === undefined
      ? { BELAY_WORKER: 'only', BELAY_BASE_URL: 'http://127.0.0.1' }
      : { BELAY_WORKER: 'off', PORT: String(port) }),
    CHAOS_CLOCK: join(folder, 'clock'),
    NODE_OPTIONS: `--import=${stepClock}`,
  };
  const start = async () => {
    wanted = true;
    const started = spawn(process.execPath, [main], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    child = started;
    const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
    started.stderr.pipe(log, { end: false });
    started.stdout.pipe(log, { end: false });
    said = '';
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (data) => {
        said = `${said}${String(data)}`.slice(-kept);
      });
    started.once('exit', (code, signal) => {
      log.end();
      if (!wanted || child !== started) return;
      options.onDeath(String(code ?? signal));
      // The start may fail for as long as the fault lasts.
      setTimeout(() => void (wanted && child === started && start().catch(tellOfHang)), 500);
    });
    const ready = new Promise<void>((resolve, reject) => {
      started.stdout.on('data', () => said.includes('  Worker  ') && resolve());
      // `close` and not `exit`, because the output has then been read to its end.
      started.once('close', (code, signal) => {
        reject(new Error(`${name} ended with ${code ?? signal} while it was starting:\n${lastLines(said)}`));
      });
    });
    await limit(ready, 'was neither ready nor ended');
  };
  const tellOfHang = (error: unknown) => {
    if (error instanceof Hung) options.onHang(error);
  };
  const kill = async () => {
    wanted = false;
    const killed = child;
    if (killed === undefined || killed.exitCode !== null || killed.signalCode !== null) return;
    const exit = once(killed, 'exit');
    killed.kill('SIGKILL');
    await limit(exit, 'did not end after SIGKILL');
  };
  const process_ = {
    name,
    url: port === undefined ? '' : `http://127.0.0.1:${port}`,
    pid: () => child?.pid ?? 0,
    kill,
    start,
    async killAndRestart() {
      await kill();
      await start();
    },
    signal: (signal: NodeJS.Signals) => void child?.kill(signal),
    async stop() {
      wanted = false;
      const stopped = child;
      if (stopped === undefined || stopped.exitCode !== null || stopped.signalCode !== null) return;
      const exit = once(stopped, 'exit');
      stopped.kill('SIGTERM');
      const timer = setTimeout(() => stopped.kill('SIGKILL'), 10_000);
      await limit(exit, 'did not end after SIGTERM and SIGKILL').finally(() => clearTimeout(timer));
    },
  };
  try {
    await start();
  } catch (error) {
    // The first start is not repeated: no fault has begun that could be the reason.
    await kill().catch(() => {});
    throw error;
  }
  return process_;
}
