import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function hasRedisServer(): boolean {
  return spawnSync('redis-server', ['--version']).status === 0;
}

export interface RedisServer {
  port: number;
  /** kill -9. What it held is gone, since it keeps nothing on disk. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A Redis of our own on a free port. */
export async function startRedis(settings: string[] = []): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'belay-redis-'));
  const port = await freePort();
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder, ...settings];
    const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    for await (const chunk of started.stdout) if (String(chunk).includes('Ready to accept connections')) break;
    started.stdout.resume();
  }

  async function kill(): Promise<void> {
    const killed = child;
    child = null;
    if (killed === null || killed.exitCode !== null) return;
    const exit = once(killed, 'exit');
    killed.kill('SIGKILL');
    await exit;
  }

  await start();
  return {
    port,
    kill,
    start,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
