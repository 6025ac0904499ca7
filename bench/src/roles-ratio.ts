import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serverRouter } from '@belay/api';
import { createApp, defaultLimits } from '@belay/server/composition';
import express from 'express';
import { openBench } from './setup.js';

export interface Ratio {
  belayPerSecond: number;
  barePerSecond: number;
  ratio: number;
  bytes: number;
}

/**
 * An authenticated `GET /api/v1/roles` against a bare Express route that answers the same bytes: the same client, the same
 * process, in turns, so that what the machine does meanwhile hits both alike. The ratio is the median of the turns'.
 */
export async function measureRolesRatio(options: {
  turns: number;
  requests: number;
  together: number;
}): Promise<Ratio> {
  const bench = await openBench({ people: 1 });
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
  const headers = { authorization: `Bearer ${bench.token}`, accept: 'application/json' };
  const answer = await (await fetch(`${belay.url}/api/v1/roles`, { headers })).text();
  const bare = await listen(
    createServer(
      express()
        .disable('x-powered-by')
        .get('/roles', (_request, response) => void response.type('application/json').send(answer)),
    ),
  );
  try {
    const rate = (url: string) => requestsPerSecond(url, headers, options);
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

async function requestsPerSecond(
  url: string,
  headers: Record<string, string>,
  options: { requests: number; together: number },
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.together });
  const started = performance.now();
  let left = options.requests;
  await Promise.all(
    Array.from({ length: options.together }, async () => {
      while (left > 0) {
        left -= 1;
        await get(url, headers, agent);
      }
    }),
  );
  agent.destroy();
  return options.requests / ((performance.now() - started) / 1000);
}

function get(url: string, headers: Record<string, string>, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { headers, agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.resume();
      response.on('end', resolve);
    })
      .on('error', reject)
      .end();
  });
}
