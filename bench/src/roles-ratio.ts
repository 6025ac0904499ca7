import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createLogin } from '@belay/core';
import express from 'express';
import { answerOf } from './compare/process.js';
import type { Requests } from './contenders/requests.js';
import { serve, serveApp } from './serve-app.js';
import { openBench } from './setup.js';

export interface Ratio {
  belayPerSecond: number;
  barePerSecond: number;
  ratio: number;
  /** Milliseconds of processor time that the server's process needs for a request, without PostgreSQL. */
  belayProcessor: number;
  bareProcessor: number;
  bytes: number;
}

/**
 * Measures an authenticated `GET /api/v1/roles` with a person for each connection, and a bare Express route that returns the same
 * bytes. One client in its own process measures both in turns, so that other work on the machine slows both alike. The rates and the
 * ratio are those of the turn with the median ratio.
 */
export async function measureRolesRatio(options: {
  turns: number;
  requests: number;
  together: number;
}): Promise<Ratio> {
  const bench = await openBench({ people: options.together });
  const belay = await serveApp(bench.ctx);
  const logins = await Promise.all(
    bench.people.map((person) => createLogin(bench.ctx, { user: person.actor, kind: 'device' })),
  );
  const tokens = logins.map(({ token }) => token);
  const headers = { authorization: `Bearer ${tokens[0]}`, accept: 'application/json' };
  const answer = await (await fetch(`${belay.url}/api/v1/roles`, { headers })).text();
  const client = fork(fileURLToPath(new URL('./contenders/requests.js', import.meta.url)));
  const bare = await serve(
    express()
      .disable('x-powered-by')
      .get('/roles', (_request, response) => void response.type('application/json').send(answer)),
  );
  try {
    const rate = (url: string) => requestsPerSecond(client, { url, tokens, count: options.requests });
    await rate(`${belay.url}/api/v1/roles`);
    await rate(`${bare.url}/roles`);
    const turns: { belay: Rate; bare: Rate }[] = [];
    for (let turn = 0; turn < options.turns; turn += 1) {
      turns.push({ belay: await rate(`${belay.url}/api/v1/roles`), bare: await rate(`${bare.url}/roles`) });
    }
    const ratioOf = ({ belay, bare }: (typeof turns)[number]) => belay.perSecond / bare.perSecond;
    const middle = turns.sort((a, b) => ratioOf(a) - ratioOf(b))[Math.floor(turns.length / 2)];
    if (!middle) throw new Error('There was no turn');
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    return {
      belayPerSecond: middle.belay.perSecond,
      barePerSecond: middle.bare.perSecond,
      ratio: ratioOf(middle),
      belayProcessor: mean(turns.map(({ belay }) => belay.processor)),
      bareProcessor: mean(turns.map(({ bare }) => bare.processor)),
      bytes: Buffer.byteLength(answer),
    };
  } finally {
    client.disconnect();
    belay.close();
    bare.close();
    await bench.close();
  }
}

interface Rate {
  perSecond: number;
  processor: number;
}

async function requestsPerSecond(client: ChildProcess, order: Requests): Promise<Rate> {
  const done = answerOf(client);
  const before = process.cpuUsage();
  client.send(order);
  const milliseconds = Number(await done);
  // The client is another process, so the processor time of this process is that of the server.
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (1000 * order.count) / milliseconds, processor: (user + system) / 1000 / order.count };
}
