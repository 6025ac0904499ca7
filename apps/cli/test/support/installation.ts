import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startHere } from '../../../../packages/server/test/start/server-process.js';
import type { Shell } from '../../src/index.js';
import { loadDiagnosis } from '../../src/load-diagnosis.js';
import { loadOperator } from '../../src/load-operator.js';
import { signInThroughDemo } from './browser.js';
import { openTerminal, type Ran, type Terminal } from './run.js';

const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url));
const demo = fileURLToPath(new URL('../../../demo/bundle/main.js', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A person with their own home folder at the same server, whose commands run in this process. */
export interface Person {
  belay(...args: string[]): Promise<Ran>;
  /** Runs a command as this person, with parts of the shell that the test replaces. */
  run(args: string[], shell: Partial<Shell>): Promise<Ran>;
  login(email: string): Promise<Ran>;
}

export interface Installation extends AsyncDisposable {
  /** The address of the server, which changes with each start. */
  url: string;
  folder: string;
  person(): Promise<Person>;
  /** Runs a command as an operator would, in the installation's folder and environment, in the process of the test. */
  operate(...args: string[]): Promise<Ran>;
  /** Runs the built program as an operator would, in the installation's folder and environment. */
  program(args: string[], env?: Record<string, string>, input?: string): Promise<Ended>;
  /** Starts the built program in the same way, for a program that keeps running. */
  start(args: string[], env?: Record<string, string>): Running;
}

/** An installation whose server is a separate process. */
export interface KillableInstallation extends Installation {
  /** Ends the server as `kill -9` does, and resolves when it has ended. */
  kill(): Promise<void>;
  /** Starts the server again with the same data. */
  restart(): Promise<void>;
}

export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Resolves with the first match in what the program writes; rejects when it ends without one. */
  says(pattern: RegExp): Promise<string>;
}

function run(program: string, args: string[], cwd: string, env: Record<string, string>, input?: string): Running {
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  const written = { stdout: '', stderr: '' };
  const waiting: (() => void)[] = [];
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      for (const look of waiting) look();
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...written }));
  const says = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(written.stdout + written.stderr)?.[1];
        if (found !== undefined) resolve(found);
      };
      waiting.push(look);
      look();
      void ended.then(() => reject(new Error(`ended without ${pattern}: ${written.stdout}${written.stderr}`)));
    });
  return { child, ended, says };
}

/** Makes a folder to install in, and returns it with the variables of an operator. */
async function makePlace() {
  const folder = await mkdtemp(path.join(tmpdir(), 'belay-story-'));
  // PostgreSQL runs as another account when root starts it; that account must be able to pass through the folder.
  await chmod(folder, 0o711);
  const variables = { BELAY_DATA: path.join(folder, 'data'), LOG_LEVEL: 'warn', HOME: folder, BELAY_AGENT: 'off' };
  return { folder, variables, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Starts the demo in the process of the test, in a new folder and on a free port. */
export async function startInstallation(): Promise<Installation> {
  const place = await makePlace();
  const server = startHere(place.folder, place.variables);
  const stop = async () => {
    await server.stop();
    await place.remove();
  };
  try {
    await server.says('ready at http');
  } catch (error) {
    await stop();
    throw error;
  }
  return openInstallation(place, /ready at (http:\/\/\S+)/.exec(server.stdout())?.[1] ?? '', stop);
}

/** Starts the built demo in a separate process, which a test can kill. */
export async function startKillableInstallation(): Promise<KillableInstallation> {
  const place = await makePlace();
  const start = () => run(demo, [], place.folder, { ...place.variables, PORT: '0' });
  let server = start();
  const ready = () => server.says(/ready at (http:\/\/\S+)/);
  const stop = async () => {
    server.child.kill('SIGTERM');
    await server.ended;
    await place.remove();
  };
  const url = await ready().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const installation = openInstallation(place, url, stop);
  return Object.assign(installation, {
    kill: async () => {
      server.child.kill('SIGKILL');
      await server.ended;
    },
    restart: async () => {
      server = start();
      installation.url = await ready();
    },
  });
}

function openInstallation(
  { folder, variables }: Awaited<ReturnType<typeof makePlace>>,
  url: string,
  stop: () => Promise<void>,
): Installation {
  const terminals: Terminal[] = [];
  const open = async (settings: Partial<Shell>) => {
    const terminal = await openTerminal(settings);
    terminals.push(terminal);
    return terminal;
  };
  const installation: Installation = {
    url,
    folder,
    person: async () => {
      const terminal = await open({ server: installation.url });
      return {
        belay: (...args) => terminal.run(args),
        run: (args, shell) => terminal.run(args, shell),
        login: async (email) => {
          let browsing: Promise<unknown> = Promise.resolve();
          const openBrowser = (address: string) => {
            browsing = signInThroughDemo(address, email);
          };
          const ran = await terminal.run(['login'], { openBrowser });
          await browsing;
          return ran;
        },
      };
    },
    operate: async (...args) => {
      const host = {
        variables,
        nodeVersion: process.version,
        platform: process.platform,
        home: folder,
        folder,
        program: { node: process.execPath, script: main },
        userId: process.getuid?.(),
      };
      const program = {
        env: variables,
        cwd: () => folder,
        on: () => {},
        stdout: { write: () => true },
        stderr: { write: () => true },
        exit: (code: number): never => {
          throw new Error(`exited with ${code}`);
        },
      };
      const terminal = await open({
        server: installation.url,
        clock: () => new Date(),
        host,
        operator: loadOperator(program, () => 'root'),
        diagnosis: loadDiagnosis(host),
      });
      return terminal.run(args);
    },
    program: (args, env = {}, input = undefined) =>
      run(main, args, folder, { ...variables, BELAY_URL: installation.url, ...env }, input).ended,
    start: (args, env = {}) => run(main, args, folder, { ...variables, ...env }),
    [Symbol.asyncDispose]: async () => {
      for (const terminal of terminals) await terminal[Symbol.asyncDispose]();
      await stop();
    },
  };
  return installation;
}
