import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findFreePort } from '@belay/host';

export interface RedisServer {
  url: string;
  stop(): Promise<void>;
}

/** Returns the Redis at the URL `given`; without one, starts a Redis if `redis-server` is on the PATH. Null without either. */
export async function startRedis(given: string | undefined): Promise<RedisServer | null> {
  if (given) return { url: given, stop: async () => {} };
  const port = await findFreePort('127.0.0.1');
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const started = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
    child.stdout.on('data', (data: Buffer) => {
      if (data.toString().includes('Ready to accept connections')) resolve(true);
    });
  });
  if (!started) return null;
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
