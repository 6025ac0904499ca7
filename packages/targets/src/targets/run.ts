import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A program that runs until it is stopped; its output is in a file. */
export interface Running {
  stop(): Promise<void>;
}

/** Creates a folder for one target; `removeScratch` deletes it. */
export async function makeScratch(name: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `belay-${name}-`));
}

export async function removeScratch(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

/** Runs a program to its end and returns its output. Throws with the end of the output when it fails. */
export async function run(command: string, args: readonly string[], options: { cwd?: string } = {}): Promise<string> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const parts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => parts.push(part));
  const code = await ended(child);
  const text = Buffer.concat(parts).toString('utf8');
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${text.slice(-2_000)}`);
  return text;
}

/** Starts a program and waits until `ready` returns true. Throws after about two minutes, or when the program ends before. */
export async function start(
  command: string,
  args: readonly string[],
  { scratch, ready }: { scratch: string; ready(): Promise<boolean> },
): Promise<Running> {
  const log = join(scratch, `${command.split('/').at(-1)}.log`);
  const file = await open(log, 'a');
  const child = spawn(command, args, { cwd: scratch, stdio: ['ignore', file.fd, file.fd] });
  const exit = ended(child);
  await file.close();
  let code: number | undefined;
  void exit.then((given) => {
    code = given;
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await exit;
    clearTimeout(late);
  };
  for (let tried = 0; tried < 600 && code === undefined; tried += 1) {
    if (await ready().catch(() => false)) return { stop };
    await pause(200);
  }
  await stop();
  throw new Error(`${command} did not start: ${(await readFile(log, 'utf8')).slice(-2_000)}`);
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(-1));
    child.once('exit', (code) => resolve(code ?? -1));
  });
}
