import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@belay/host';
import { lastLines, within } from './within.js';

export interface RedisServer {
  port: number;
  /** Kills the server with SIGKILL. It keeps nothing on disk, so its data is lost. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Returns whether `redis-server` can be started here. */
export function hasRedis(): boolean {
  return spawnSync('redis-server', ['--version']).status === 0;
}

/** How much of the output is kept, in characters. */
const kept = 4_000;

/** Starts a Redis on a free port that keeps nothing on disk. `settings` are further arguments of `redis-server`. */
export async function startRedis(settings: readonly string[] = []): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-redis-'));
  const port = await findFreePort('127.0.0.1');
  let child: ChildProcess | undefined;
  const start = async () => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder, ...settings];
    const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    let said = '';
    const ready = new Promise<void>((resolve, reject) => {
      started.stdout.on('data', (chunk) => {
        said = `${said}${String(chunk)}`.slice(-kept);
        if (said.includes('Ready to accept connections')) resolve();
      });
      started.once('close', () => reject(new Error(`redis-server ended while it was starting:\n${lastLines(said)}`)));
    });
    await within(ready, 'redis-server was neither ready nor ended', { said: async () => said });
  };
  const kill = async () => {
    const killed = child;
    child = undefined;
    if (killed === undefined || killed.exitCode !== null || killed.signalCode !== null) return;
    const exit = once(killed, 'exit');
    killed.kill('SIGKILL');
    await within(exit, 'redis-server did not end after SIGKILL');
  };
  await start().catch(async (error: unknown) => {
    await kill();
    throw error;
  });
  return {
    port,
    kill,
    start,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
