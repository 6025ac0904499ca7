import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '@belay/db';
import { createHouse } from '@belay/testkit/house';
import { expect, it } from 'vitest';
import { readHealth } from '../src/system/health.js';
import { readMetrics } from '../src/system/metrics.js';
import { createReadiness } from '../src/system/readiness.js';

/** Returns a database that accepts connections and never responds. */
async function openSilent() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const { db, close } = openDatabase(`postgres://belay:x@127.0.0.1:${port}/belay`);
  return {
    db,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await close();
    },
  };
}

it('a database that hangs holds up no request for the state of the service', async () => {
  const house = await createHouse();
  const silent = await openSilent();
  try {
    const asked: number[] = [];
    const ctx = {
      ...house.ctx,
      db: silent.db,
      // Delays end immediately, and are recorded.
      delay: (milliseconds: number, signal?: AbortSignal) => {
        asked.push(milliseconds);
        return delay(1, undefined, { signal });
      },
    };
    expect(await createReadiness(ctx, async () => true)()).toMatchObject({ status: 'not ready' });
    expect(await readHealth(ctx, { path: '/health', scheduler: async () => 'healthy' })).toMatchObject({
      status: 'unhealthy',
      services: { storage: 'unhealthy: no response in time', workflow_engine: 'unhealthy', scheduler: 'healthy' },
    });
    await expect(readMetrics(ctx, { uptimeMilliseconds: 1, requests: 1 })).rejects.toMatchObject({
      code: 'unavailable',
    });
    // All checks run concurrently, so two seconds are the whole time.
    expect([...new Set(asked)]).toEqual([2_000]);
  } finally {
    await silent[Symbol.asyncDispose]();
    await house[Symbol.asyncDispose]();
  }
});

it('says for operators that jobs of the queue were dropped', async () => {
  const house = await createHouse();
  try {
    const health = async (scheduler: string, droppedJobs: number) =>
      readHealth(house.ctx, { path: '/health', scheduler: async () => scheduler, droppedJobs });
    expect(await health('healthy', 3)).toMatchObject({
      status: 'degraded',
      services: { scheduler: 'degraded: 3 jobs of the queue were dropped in the last 15 minutes; see the log' },
    });
    expect((await health('redis does not respond', 3)).services.scheduler).toBe('redis does not respond');
    expect((await health('healthy', 0)).status).toBe('healthy');
    const metrics = await readMetrics(house.ctx, { uptimeMilliseconds: 1, requests: 1, droppedJobs: 7 });
    expect(metrics.dropped_jobs).toBe(7);
  } finally {
    await house[Symbol.asyncDispose]();
  }
});

it('is not ready before the queue was there, and waits no longer than that for it', async () => {
  const house = await createHouse();
  try {
    const ready = async (queueSeen: () => Promise<boolean>) => (await createReadiness(house.ctx, queueSeen)()).status;
    expect(await ready(async () => true)).toBe('ready');
    expect(await ready(async () => false)).toBe('not ready');
    expect(await ready(() => Promise.reject(new Error('refused')))).toBe('not ready');
    const ctx = {
      ...house.ctx,
      delay: (_milliseconds: number, signal?: AbortSignal) => delay(1, undefined, { signal }),
    };
    expect((await createReadiness(ctx, () => new Promise(() => {}))()).status).toBe('not ready');
  } finally {
    await house[Symbol.asyncDispose]();
  }
});

it('repeats that it is ready for a second without waiting for the database, and looks again meanwhile', async () => {
  const house = await createHouse();
  const silent = await openSilent();
  try {
    let now = 0;
    let looks = 0;
    const ctx = {
      ...house.ctx,
      clock: () => new Date(now),
      // A database that hangs is given up immediately.
      delay: (milliseconds: number, signal?: AbortSignal) =>
        delay(ctx.db === silent.db ? 1 : milliseconds, undefined, { signal }),
    };
    const queueSeen = async () => {
      looks += 1;
      return true;
    };
    const readiness = createReadiness(ctx, queueSeen);
    const [first, shared] = await Promise.all([readiness(), readiness()]);
    expect([first.status, shared.status, looks]).toEqual(['ready', 'ready', 1]);
    ctx.db = silent.db;
    now = 999;
    expect((await readiness()).timestamp).toBe(first.timestamp);
    // The check that this call started has failed, so no older result counts.
    await expect.poll(async () => (await readiness()).status).toBe('not ready');
    ctx.db = house.ctx.db;
    expect((await readiness()).status).toBe('ready');
    now = -5_000;
    const looked = looks;
    expect((await readiness()).timestamp).toBe(new Date(-5_000).toISOString());
    expect(looks).toBe(looked + 1);
  } finally {
    await silent[Symbol.asyncDispose]();
    await house[Symbol.asyncDispose]();
  }
});
