import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { serverRouter } from '@belay/api';
import { createLogin } from '@belay/core';
import { createApp, defaultLimits } from '@belay/server/composition';
import express from 'express';
import { answerOf } from './compare/process.js';
import type { Requests } from './contenders/requests.js';
import { openBench } from './setup.js';

export interface Ratio {
  belayPerSecond: number;
  barePerSecond: number;
  ratio: number;
  bytes: number;
}

/**
 * Returns an authenticated `GET /api/v1/roles`, with as many people as connections, against a bare Express route that answers the same
 * bytes: the same client, in a process of its own, in turns, so that what the machine does meanwhile hits both alike. The ratio
 * is the median of the turns'.
 */
export async function measureRolesRatio(options: {
  turns: number;
  requests: number;
  together: number;
}): Promise<Ratio> {
  const bench = await openBench({ people: options.together });
  const unlimited = { ...defaultLimits, requests: Number.MAX_SAFE_INTEGER };
  const { app } = createApp({
    context: bench.ctx,
    router: serverRouter,
    basePath: '/api/v1',
    baseUrl: 'http://127.0.0.1',
    log: { ...bench.ctx.log },
    limits: unlimited,
    counters: { uptimeMilliseconds: () => performance.now(), scheduler: async () => 'healthy' },
  });
  const belay = await listen(createServer(app));
  const logins = await Promise.all(
    bench.people.map((person) => createLogin(bench.ctx, { user: person.actor, kind: 'device' })),
  );
  const tokens = logins.map(({ token }) => token);
  const headers = { authorization: `Bearer ${tokens[0]}`, accept: 'application/json' };
  const answer = await (await fetch(`${belay.url}/api/v1/roles`, { headers })).text();
  const client = fork(fileURLToPath(new URL('./contenders/requests.js', import.meta.url)));
  const bare = await listen(
    createServer(
      express()
        .disable('x-powered-by')
        .get('/roles', (_request, response) => void response.type('application/json').send(answer)),
    ),
  );
  try {
    const rate = (url: string) => requestsPerSecond(client, { url, tokens, count: options.requests });
    await rate(`${belay.url}/api/v1/roles`);
    await rate(`${bare.url}/roles`);
    const turns: { belay: number; bare: number }[] = [];
    for (let turn = 0; turn < options.turns; turn += 1) {
      turns.push({ belay: await rate(`${belay.url}/api/v1/roles`), bare: await rate(`${bare.url}/roles`) });
    }
    const middle = turns.sort((a, b) => a.belay / a.bare - b.belay / b.bare)[Math.floor(turns.length / 2)] ?? {
      belay: 0,
      bare: 1,
    };
    return {
      belayPerSecond: middle.belay,
      barePerSecond: middle.bare,
      ratio: middle.belay / middle.bare,
      bytes: Buffer.byteLength(answer),
    };
  } finally {
    client.disconnect();
    belay.server.closeAllConnections();
    belay.server.close();
    bare.server.closeAllConnections();
    bare.server.close();
    await bench.close();
  }
}

async function listen(server: Server): Promise<{ server: Server; url: string }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function requestsPerSecond(client: ChildProcess, order: Requests): Promise<number> {
  const done = answerOf(client);
  client.send(order);
  return order.count / (Number(await done) / 1000);
}
