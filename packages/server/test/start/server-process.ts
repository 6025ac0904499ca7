import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProcessLike } from '@belay/program';
import { runServer } from '../../src/index.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

export interface ServerProcess extends AsyncDisposable {
  process: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves with the exit code, or with the signal that ended it. */
  exited: Promise<number | string>;
  /** Resolves when stdout has the text; rejects with everything that was said when the process ends before. */
  says(text: string): Promise<void>;
}

/** Runs a program as a process of its own, with nothing of our environment but the path: what `npm start` runs, or the server alone. */
export function startProcess(
  directory: string,
  env: Record<string, string> = {},
  app: 'demo' | 'server' = 'demo',
): ServerProcess {
  return watchProcess(process.execPath, [join(root, 'apps', app, 'bundle/main.js')], {
    cwd: directory,
    directory,
    env,
  });
}

/** What a start leaves behind that must not succeed. */
export interface Refused {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Returns what a start writes and how it exits, which is run in this process by what the programs run: a process of its own takes a
 * second of a processor to load it all. Rejects when the start succeeds, after it was stopped.
 */
export function refuseHere(directory: string, env: Record<string, string> = {}): Promise<Refused> {
  return new Promise((resolve, reject) => {
    const refused = { stdout: '', stderr: '' };
    const stops: (() => void)[] = [];
    const host: ProcessLike = {
      env: variablesOf(directory, env),
      cwd: () => directory,
      on: (signal, handle) => signal === 'SIGTERM' && stops.push(handle),
      stdout: {
        write(text) {
          refused.stdout += text;
          if (!refused.stdout.includes('is ready at')) return;
          for (const stop of stops) stop();
          reject(new Error(`it started:\n${refused.stdout}`));
        },
      },
      stderr: {
        write(text) {
          refused.stderr += text;
        },
      },
      exit(code) {
        resolve({ code, ...refused });
        throw new Error(`exited with ${code}`);
      },
    };
    // What exits rejects here as well, which is too late to change the outcome.
    runServer(host, async () => (await import('@belay/demo')).openDemo)
      .catch(reject)
      // A server reads source maps for its log, which would slow down the tests after this one.
      .finally(() => process.setSourceMapsEnabled(false));
  });
}

function variablesOf(directory: string, env: Record<string, string>): Record<string, string | undefined> {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, PORT: '0', BELAY_DATA: join(directory, '.belay'), ...env };
}

/** Runs `npm start` itself in this repository, without the build before it; what it keeps is in the directory. */
export function startNpm(directory: string): ServerProcess {
  return watchProcess('npm', ['start', '--ignore-scripts'], { cwd: root, directory, env: {} });
}

function watchProcess(
  program: string,
  args: readonly string[],
  { cwd, directory, env }: { cwd: string; directory: string; env: Record<string, string> },
): ServerProcess {
  const child = spawn(program, args, {
    cwd,
    env: variablesOf(directory, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout.on('data', (data) => {
    stdout += String(data);
    for (const listener of listeners) listener();
  });
  child.stderr.on('data', (data) => {
    stderr += String(data);
  });
  const exited = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (stdout.includes(text)) resolve();
        };
        listeners.add(look);
        look();
        void exited.then((code) =>
          reject(new Error(`ended with ${code} before it said "${text}":\n${stdout}\n${stderr}`)),
        );
      }),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

export interface Folder extends AsyncDisposable {
  path: string;
  write(name: string, text: string): Promise<void>;
}

/** Returns a folder to start in, removed afterwards; as ordinary folders are, it lets the account that root starts the database as pass. */
export async function makeFolder(files: Record<string, string> = {}): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'belay-start-'));
  await chmod(path, 0o711);
  const write = (name: string, text: string) => writeFile(join(path, name), text);
  for (const [name, text] of Object.entries(files)) await write(name, text);
  return { path, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
