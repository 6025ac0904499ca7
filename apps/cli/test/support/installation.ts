import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Shell } from '../../src/index.js';
import { signInThroughDemo } from './browser.js';
import { openTerminal, type Ran, type Terminal } from './run.js';

const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url));
const demo = fileURLToPath(new URL('../../../demo/bundle/main.js', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A person with a home folder of their own at the same server, whose commands run in this process. */
export interface Person {
  belay(...args: string[]): Promise<Ran>;
  /** The same with a world of its own, as a test wants it. */
  run(args: string[], shell: Partial<Shell>): Promise<Ran>;
  login(email: string): Promise<Ran>;
}

export interface Installation extends AsyncDisposable {
  /** Where the server listens, which changes with each start of it. */
  url: string;
  /** Ends the server as kill -9 does, and resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts the server again where it was. */
  restart(): Promise<void>;
  folder: string;
  person(): Promise<Person>;
  /** Runs the built program as an operator would, in the installation's folder and environment. */
  program(args: string[], env?: Record<string, string>, input?: string): Promise<Ended>;
  /** The same for a program that stays. */
  start(args: string[], env?: Record<string, string>): Running;
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

/** Starts the built demo in a folder of its own on a free port. */
export async function startInstallation(): Promise<Installation> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belay-story-'));
  // The account that root starts the database as passes through, as it does in ordinary folders.
  await chmod(folder, 0o711);
  const operator = { BELAY_DATA: path.join(folder, 'data'), LOG_LEVEL: 'warn', HOME: folder, BELAY_AGENT: 'off' };
  let server = run(demo, [], folder, { ...operator, PORT: '0' });
  const ready = () => server.says(/ready at (http:\/\/\S+)/);
  const stop = async () => {
    server.child.kill('SIGTERM');
    await server.ended;
    await rm(folder, { recursive: true, force: true });
  };
  const url = await ready().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const terminals: Terminal[] = [];
  const installation: Installation = {
    url,
    folder,
    kill: async () => {
      server.child.kill('SIGKILL');
      await server.ended;
    },
    restart: async () => {
      server = run(demo, [], folder, { ...operator, PORT: '0' });
      installation.url = await ready();
    },
    person: async () => {
      const terminal = await openTerminal({ server: installation.url });
      terminals.push(terminal);
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
    program: (args, env = {}, input = undefined) =>
      run(main, args, folder, { ...operator, BELAY_URL: installation.url, ...env }, input).ended,
    start: (args, env = {}) => run(main, args, folder, { ...operator, ...env }),
    [Symbol.asyncDispose]: async () => {
      for (const terminal of terminals) await terminal[Symbol.asyncDispose]();
      await stop();
    },
  };
  return installation;
}
