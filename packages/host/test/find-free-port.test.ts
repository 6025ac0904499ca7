import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { findFreePort, isPortFree } from '../src/index.js';

const host = '127.0.0.1';

it('returns a port below those of outgoing connections, and passes over one that is taken', async () => {
  const taken = createServer();
  const port = await findFreePort(host);
  expect(port).toBeGreaterThanOrEqual(20_000);
  expect(port).toBeLessThan(32_000);
  await once(taken.listen(port, host), 'listening');
  try {
    expect(await isPortFree(port, host)).toBe(false);
    const another = await findFreePort(host);
    const picks = [port - 20_000, port - 20_000, another - 20_000];
    expect(await findFreePort(host, async () => picks.shift() ?? 0)).toBe(another);
    await expect(findFreePort(host, async () => port - 20_000)).rejects.toThrow('None of 100 ports');
  } finally {
    taken.close();
  }
});
