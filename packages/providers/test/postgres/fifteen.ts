import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '@belay/host';
import postgres from 'postgres';

/** The folder of the programs of Debian's package postgresql-15. */
const programs = '/usr/lib/postgresql/15/bin';

/**
 * Returns whether a PostgreSQL 15 can be started here: the last version whose members can become the role. Belay does not need it,
 * so without it these tests are skipped with a warning; CI installs it, and there its absence is a failure.
 */
export function hasFifteen(): boolean {
  if (process.env.CI || existsSync(path.join(programs, 'initdb'))) return true;
  console.warn('PostgreSQL 15 is not installed here: what differs before 16 was not tried');
  return false;
}

export interface Fifteen {
  /** The URL of the database `postgres`. */
  url: string;
  /** Stops the server as `pg_ctl stop` does, and deletes its folder unless that was given. */
  stop(): Promise<void>;
  /** Kills the server (SIGKILL), as when its machine is lost. */
  crash(): Promise<void>;
}

/**
 * Starts a PostgreSQL 15: empty, in a folder that is deleted with it, or in the folder `data`, which is initialised
 * when it does not exist. `settings` are settings of postgresql.conf, as `name=value`.
 */
export async function startFifteen(given: { data?: string; settings?: readonly string[] } = {}): Promise<Fifteen> {
  const folder = given.data === undefined ? makeFifteenFolder() : undefined;
  const data = given.data ?? path.join(String(folder), 'data');
  if (!existsSync(data)) initializeFifteen(data);
  const port = await findFreePort('127.0.0.1');
  const settings = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=60'];
  const server = spawn(
    path.join(programs, 'postgres'),
    ['-D', data, '-p', String(port), ...[...settings, ...(given.settings ?? [])].flatMap((setting) => ['-c', setting])],
    { ...serverAccount(), stdio: 'ignore' },
  );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await untilReady(url, server);
  const end = async (signal: 'SIGINT' | 'SIGKILL') => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((done) => server.once('exit', done));
    server.kill(signal);
    await ended;
  };
  return {
    url,
    crash: () => end('SIGKILL'),
    async stop() {
      await end('SIGINT');
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes a folder that belongs to the account as which PostgreSQL 15 runs here. */
export function makeFifteenFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'belay-fifteen-'));
  const account = serverAccount();
  if ('uid' in account) chownSync(folder, account.uid, account.gid);
  return folder;
}

function initializeFifteen(data: string): void {
  runFifteen('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--no-instructions']);
}

/** Runs a program of PostgreSQL 15 to its end, as the server's account. When the program fails, throws an error with its output. */
export function runFifteen(
  program: 'initdb' | 'pg_basebackup' | 'pg_dump' | 'pg_restore' | 'pg_upgrade',
  args: string[],
  cwd?: string,
): void {
  const options = {
    ...serverAccount(),
    ...(cwd !== undefined && { cwd }),
    stdio: ['ignore', 'ignore', 'pipe'] as const,
  };
  execFileSync(path.join(programs, program), args, { ...options, stdio: [...options.stdio] });
}

/** Upgrades a stopped server in place, as `pg_upgrade` does, into a new folder below `folder`, which is returned. */
export async function upgradeFifteen(data: string, folder: string): Promise<string> {
  const upgraded = path.join(folder, 'upgraded');
  initializeFifteen(upgraded);
  const [before, after] = [await findFreePort('127.0.0.1'), await findFreePort('127.0.0.1')];
  const places = ['-b', programs, '-B', programs, '-d', data, '-D', upgraded, '-s', folder];
  runFifteen('pg_upgrade', [...places, '-U', 'postgres', '-p', String(before), '-P', String(after)], folder);
  return upgraded;
}

/**
 * Returns the package's account when this process runs as root, because PostgreSQL does not start as root; otherwise
 * nothing.
 */
function serverAccount(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {};
  const id = (which: string) => Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function untilReady(url: string, server: ChildProcess): Promise<void> {
  for (let turn = 0; turn < 600 && server.exitCode === null; turn++) {
    const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
    const ready = await sql`select 1`.then(
      () => true,
      () => false,
    );
    await sql.end({ timeout: 0 });
    if (ready) return;
    await delay(50);
  }
  throw new Error('PostgreSQL 15 did not start');
}
