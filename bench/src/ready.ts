import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createLogin } from '@belay/core';
import { elevations } from './belay/elevate.js';
import { answerOf } from './compare/process.js';
import type { Read, Reading } from './contenders/readers.js';
import { serveApp } from './serve-app.js';
import { openBench } from './setup.js';
import { type Spread, spreadOf } from './spread.js';

export interface Ready {
  /** How long GET /ready took, in milliseconds. */
  ready: Spread;
  pagesPerSecond: number;
  elevationsPerSecond: number;
}

/**
 * Measures how long GET /ready takes while people read pages and others elevate, all without a pause. The server and its worker are
 * in this process, the probe and the readers in another.
 */
export async function measureReady(options: { readers: number; people: number; milliseconds: number }): Promise<Ready> {
  const { readers, people, milliseconds } = options;
  const bench = await openBench({ people });
  const served = await serveApp(bench.ctx);
  const client = fork(fileURLToPath(new URL('./contenders/readers.js', import.meta.url)));
  const once = elevations(bench);
  try {
    const logins = Array.from({ length: readers }, () =>
      createLogin(bench.ctx, { user: bench.approver.actor, kind: 'device' }),
    );
    const tokens = (await Promise.all(logins)).map(({ token }) => token);
    const pages = ['roles', 'access', 'approvals', 'executions', 'logs'].map((name) => `${served.url}/api/v1/${name}`);
    const order: Reading = { pages, tokens, probe: `${served.url}/api/v1/ready`, every: 20, milliseconds };
    const run = async (reading: Reading) => {
      const done = answerOf(client) as Promise<Read>;
      const until = performance.now() + reading.milliseconds;
      let elevated = 0;
      client.send(reading);
      const elevating = bench.people.map(async (person) => {
        for (; performance.now() < until; elevated += 1) await once(person, 'grant');
      });
      const [found] = await Promise.all([done, ...elevating]);
      return { ...found, elevated };
    };
    // A run that does not count comes first, because code is slow until it is compiled.
    await run({ ...order, milliseconds: milliseconds / 3 });
    const { probes, pages: read, elevated } = await run(order);
    const seconds = milliseconds / 1000;
    return { ready: spreadOf(probes), pagesPerSecond: read / seconds, elevationsPerSecond: elevated / seconds };
  } finally {
    client.disconnect();
    served.close();
    await bench.close();
  }
}
