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
  /** Resolves when stdout contains the text; rejects with the whole output when the process ends before. */
  says(text: string): Promise<void>;
}

/** Runs the demo or the server alone in its own process, with only PATH and HOME of the environment of the tests. */
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

/** The outcome of a start that must not succeed. */
export interface Refused {
  code: number;
  stdout: string;
  stderr: string;
}

/** A server that runs in the process of its test. */
export interface ServerHere extends AsyncDisposable {
  stdout(): string;
  stderr(): string;
  /** Resolves with the exit code. */
  exited: Promise<number>;
  says: ServerProcess['says'];
  /** Stops the server as SIGTERM does, and resolves with the exit code. */
  stop(): Promise<number>;
}

/**
 * Starts a server in this process, with the code that the programs run, because a new process takes a second of processor
 * time to load it. The server has its own environment, folder and output.
 */
export function startHere(directory: string, env: Record<string, string> = {}): ServerHere {
  const output = watchOutput();
  const stops: (() => void)[] = [];
  let state: 'starting' | 'running' | 'left' = 'starting';
  let leave: (code: number) => void = () => {};
  const exited = new Promise<number>((resolve) => {
    leave = resolve;
  });
  const host: ProcessLike = {
    env: variablesOf(directory, env),
    cwd: () => directory,
    on: (signal, handle) => signal === 'SIGTERM' && stops.push(handle),
    stdout: { write: output.out },
    stderr: { write: output.err },
    exit(code): never {
      const isStart = state === 'starting';
      state = 'left';
      leave(code);
      // A failed start must not continue after its exit. After a stop there is nothing left to do.
      if (isStart) throw new Error(`exited with ${code}`);
      return undefined as never;
    },
  };
  // A failed start rejects here too, but its exit code is already set.
  const running = runServer(host, async () => (await import('@belay/demo')).openDemo)
    .then(
      () => {
        state = 'running';
      },
      (error: unknown) => {
        if (state !== 'left') output.err(String(error));
        leave(1);
      },
    )
    // A server reads source maps for its log, which would slow down the tests after this one.
    .finally(() => process.setSourceMapsEnabled(false));
  const stop = async () => {
    await running;
    for (const each of stops.splice(0)) each();
    return exited;
  };
  return {
    ...output,
    exited,
    says: (text) => output.says(text, exited),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/**
 * Returns the output and the exit code of a start in this process that fails. Rejects when the start succeeds, and stops
 * the server.
 */
export async function refuseHere(directory: string, env: Record<string, string> = {}): Promise<Refused> {
  await using server = startHere(directory, env);
  const code = await Promise.race([server.exited, server.says('is ready at').catch(() => server.exited)]);
  if (code === undefined) throw new Error(`it started:\n${server.stdout()}`);
  return { code, stdout: server.stdout(), stderr: server.stderr() };
}

/** Collects the output of a server, and resolves `says` when a text appears in it. */
function watchOutput() {
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    out(text: unknown) {
      stdout += String(text);
      for (const listener of listeners) listener();
    },
    err(text: unknown) {
      stderr += String(text);
    },
    says: (text: string, exited: Promise<number | string>) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (stdout.includes(text)) resolve();
        };
        listeners.add(look);
        look();
        void exited.then((code) =>
          reject(new Error(`ended with ${code} before it said "${text}":\n${stdout}\n${stderr}`)),
        );
      }),
  };
}

function variablesOf(directory: string, env: Record<string, string>): Record<string, string | undefined> {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, PORT: '0', BELAY_DATA: join(directory, '.belay'), ...env };
}

/** Runs `npm start` itself in this repository, without its build; its data is in the directory. */
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
  const output = watchOutput();
  child.stdout.on('data', output.out);
  child.stderr.on('data', output.err);
  const exited = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  return {
    process: child,
    stdout: output.stdout,
    stderr: output.stderr,
    exited,
    says: (text) => output.says(text, exited),
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

/** Creates a folder to start in, which is removed afterwards. Other accounts may pass it, because root runs the database as one of them. */
export async function makeFolder(files: Record<string, string> = {}): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'belay-start-'));
  await chmod(path, 0o711);
  const write = (name: string, text: string) => writeFile(join(path, name), text);
  for (const [name, text] of Object.entries(files)) await write(name, text);
  return { path, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
