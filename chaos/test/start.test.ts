import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBelay } from '../src/stage/belay.js';
import { hasRedis, startRedis } from '../src/stage/redis.js';
import { limit, type Wait, within } from '../src/stage/within.js';

it('ends with the name and the last lines of a process of Belay that does not start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-chaos-test-'));
  const deaths: string[] = [];
  const environment = { DATABASE_URL: 'nonsense', BELAY_SECRET: 'a secret for tests that is long enough' };
  const options = {
    name: 'worker7',
    folder,
    environment,
    onDeath: (how: string) => void deaths.push(how),
    onHang: () => {},
  };
  await expect(startBelay(options)).rejects.toThrow(
    /^worker7 ended with 1 while it was starting:\nbelay: DATABASE_URL is not valid/,
  );
  expect(deaths).toEqual(['1']);
  await rm(folder, { recursive: true, force: true });
});

/** Returns a clock by which only the first limit passes, when the test calls `pass`, and the limits of all waits. */
function stoppedClock() {
  const limits: number[] = [];
  let pass = () => {};
  const over = new Promise<void>((resolve) => {
    pass = resolve;
  });
  const wait: Wait = async (milliseconds) => {
    limits.push(milliseconds);
    await (limits.length === 1 ? over : new Promise(() => {}));
  };
  return { wait, limits, pass };
}

/** Starts a server in the place of PostgreSQL that accepts connections and never responds. */
async function listenSilently() {
  const open = new Set<Socket>();
  let connected = () => {};
  const first = new Promise<void>((resolve) => {
    connected = resolve;
  });
  const server = createServer((socket) => {
    open.add(socket.on('error', () => {}));
    connected();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    first,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it('fails with the name and the last lines of a process of Belay that neither becomes ready nor ends within a minute', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-chaos-test-'));
  await using database = await listenSilently();
  const clock = stoppedClock();
  const deaths: string[] = [];
  const started = startBelay({
    name: 'server7',
    folder,
    environment: {
      DATABASE_URL: `postgres://belay:secret@127.0.0.1:${database.port}/belay`,
      BELAY_SECRET: 'a secret for tests that is long enough',
      NODE_DEBUG: 'net',
    },
    port: 0,
    onDeath: (how) => void deaths.push(how),
    onHang: () => {},
    wait: clock.wait,
  });
  void database.first.then(clock.pass);
  await expect(started).rejects.toThrow(/^server7 was neither ready nor ended within 60 s; it said last:\nNET \d+: /);
  // The process was killed by the stage, which does not count as a death.
  expect({ limits: clock.limits, deaths }).toEqual({ limits: [limit, limit], deaths: [] });
  await rm(folder, { recursive: true, force: true });
});

it('stops waiting as soon as the process has succeeded or failed', async () => {
  const clock = stoppedClock();
  expect(await within(Promise.resolve(7), 'nothing', clock)).toBe(7);
  await expect(within(Promise.reject(new Error('ended')), 'nothing', clock)).rejects.toThrow('ended');
});

it.runIf(hasRedis())('ends with what Redis says when it does not start', async () => {
  await expect(startRedis(['--no-such-setting', 'x'])).rejects.toThrow(/^redis-server ended while it was starting:\n/);
});
