import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBelay } from '../src/stage/belay.js';
import { hasRedis, startRedis } from '../src/stage/redis.js';

it('ends with the name and the last lines of a process of Belay that does not start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-chaos-test-'));
  const deaths: string[] = [];
  const environment = { DATABASE_URL: 'nonsense', BELAY_SECRET: 'a secret for tests that is long enough' };
  const options = { name: 'worker7', folder, environment, onDeath: (how: string) => void deaths.push(how) };
  await expect(startBelay(options)).rejects.toThrow(
    /^worker7 ended with 1 while it was starting:\nbelay: DATABASE_URL is not valid/,
  );
  expect(deaths).toEqual(['1']);
  await rm(folder, { recursive: true, force: true });
});

it.runIf(hasRedis())('ends with what Redis says when it does not start', async () => {
  await expect(startRedis(['--no-such-setting', 'x'])).rejects.toThrow(/^redis-server ended while it was starting:\n/);
});
