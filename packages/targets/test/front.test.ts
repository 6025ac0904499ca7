import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type Act,
  answer,
  type Entry,
  type Front,
  findHeld,
  gate,
  holdBack,
  loseAnswer,
  loseRequest,
  meanwhile,
  misbehave,
  rewrite,
  stale,
  startFront,
  throttle,
} from '../src/index.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Starts a target that stores members of groups, and a front before it. */
async function open() {
  const members = new Set<string>();
  const target = createServer((request, response) => {
    const name = request.url ?? '';
    if (request.method === 'PUT') members.add(name);
    if (request.method === 'DELETE') members.delete(name);
    const { port } = target.address() as AddressInfo;
    response.writeHead(request.method === 'GET' && !members.has(name) ? 404 : 200, {
      link: `<http://127.0.0.1:${port}/next>; rel="next"`,
    });
    response.end(JSON.stringify({ name, self: `http://127.0.0.1:${port}${name}` }));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const clock = { now: 0 };
  const to = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  const front = await startFront({ to, now: () => clock.now });
  closing.push(async () => {
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
  });
  closing.push(async () => front[Symbol.asyncDispose]());
  const call = async (method: string, path = '/ops/rita') => {
    const response = await fetch(`${front.url}${path}`, { method, redirect: 'manual' }).catch(() => undefined);
    return response?.status ?? 'lost';
  };
  return { front, members, clock, call };
}

const effectOf = ({ method, path }: Entry) =>
  method === 'PUT' || method === 'DELETE' ? { key: path, held: method === 'PUT' } : undefined;
const heldBy = (front: Front) => findHeld(front.journal, effectOf);

describe('the front', () => {
  it('forwards everything, shows its own address, and keeps the journal', async () => {
    const { front, call, clock } = await open();
    clock.now = 7;
    expect(await call('PUT')).toBe(200);
    const response = await fetch(`${front.url}/ops/rita?a=b`, { headers: { 'x-own': '1' } });
    expect(response.headers.get('link')).toBe(`<${front.url}/next>; rel="next"`);
    expect(front.journal[0]).toEqual({
      number: 0,
      at: 7,
      method: 'PUT',
      path: '/ops/rita',
      body: undefined,
      act: 'forward',
      target: { at: 7, status: 200, body: { name: '/ops/rita', self: `${front.url}/ops/rita` } },
      answered: { at: 7, status: 200 },
    });
    expect(front.journal[1]?.path).toBe('/ops/rita?a=b');
  });

  it('misbehaves for the requests that match, so often as it is told, and the last act counts', async () => {
    const { front, call } = await open();
    front.on({ method: ['PUT', 'POST'], path: /rita/, times: 2, after: 1 }, answer({ status: 409 }));
    expect([await call('PUT'), await call('PUT'), await call('GET'), await call('PUT'), await call('PUT')]).toEqual([
      200, 409, 200, 409, 200,
    ]);
    const takeBack = front.on({}, throttle(3));
    front.on(
      { when: ({ path }) => path === '/ops/omar' },
      answer(({ path }) => ({ status: 418, body: path })),
    );
    expect([await call('GET'), await call('GET', '/ops/omar')]).toEqual([429, 418]);
    takeBack();
    expect(await call('GET')).toBe(200);
    front.calm();
    expect(await call('GET', '/ops/omar')).toBe(404);
  });

  it('says how long to wait when it throttles', async () => {
    const { front } = await open();
    front.on({}, throttle(3, { 'x-reset': '9' }));
    const { status, headers } = await fetch(`${front.url}/ops/rita`);
    expect([status, headers.get('retry-after'), headers.get('x-reset')]).toEqual([429, '3', '9']);
  });

  it('loses requests and answers, and the journal knows which of them were carried out', async () => {
    const { front, call, members, clock } = await open();
    front.on({}, loseRequest);
    expect([await call('PUT'), members.size]).toEqual(['lost', 0]);
    front.on({}, loseAnswer);
    clock.now = 5;
    expect([await call('PUT'), members.size]).toEqual(['lost', 1]);
    clock.now = 9;
    expect([await call('DELETE'), members.size]).toEqual(['lost', 0]);
    expect(heldBy(front)).toEqual([{ key: '/ops/rita', from: 5, to: 9 }]);
    expect(front.journal.map(({ answered }) => answered?.status)).toEqual(['lost', 'lost', 'lost']);
  });

  it('serves stale reads', async () => {
    const { front, call } = await open();
    front.on({ method: 'GET' }, stale);
    expect(await call('GET')).toBe(404);
    await call('PUT');
    expect(await call('GET')).toBe(404);
    front.calm();
    expect(await call('GET')).toBe(200);
  });

  it('holds changes back until its clock says so', async () => {
    const { front, call, members, clock } = await open();
    front.on({ method: 'PUT' }, holdBack(100));
    expect(await call('PUT')).toBe(202);
    clock.now = 99;
    expect(await call('GET')).toBe(404);
    clock.now = 100;
    expect(await call('GET')).toBe(200);
    front.on({ method: 'DELETE' }, holdBack(50, { status: 204 }));
    expect(await call('DELETE')).toBe(204);
    expect(members.size).toBe(1);
    clock.now = 200;
    await front.settle();
    expect(members.size).toBe(0);
    expect(heldBy(front)).toEqual([{ key: '/ops/rita', from: 100, to: 200 }]);
  });

  it.each(['before', 'after'] as const)(
    'keeps requests at a gate %s the target, and counts those at once',
    async (side) => {
      const { front, call, members } = await open();
      const closed = gate(side);
      front.on({}, closed);
      const calls = [call('PUT'), call('PUT', '/ops/omar')];
      await vi.waitFor(() => expect(closed.arrived()).toBe(2), { timeout: 30_000 });
      expect(members.size).toBe(side === 'before' ? 0 : 2);
      expect(front.mostAtOnce()).toBe(2);
      closed.open();
      expect(await Promise.all(calls)).toEqual([200, 200]);
    },
  );

  it('lets others act in between, and changes answers', async () => {
    const { front, call, members } = await open();
    front.on(
      { method: 'GET', times: 1 },
      meanwhile(async () => members.add('/ops/rita')),
    );
    expect(await call('GET')).toBe(200);
    front.on(
      {},
      rewrite((reply) => ({ ...reply, status: reply.status + 3 })),
    );
    expect(await call('GET')).toBe(203);
  });

  it('misbehaves by numbers that come in, in each of the ways', async () => {
    const { front, call, members } = await open();
    let turn = 0;
    const numbers: number[] = [];
    const act: Act = misbehave(() => numbers[turn++] ?? 1, 0.5, { staleReads: true });
    front.on({}, act);
    const meet = async (method: string, ...given: number[]) => {
      numbers.splice(0, numbers.length, ...given);
      turn = 0;
      return call(method);
    };
    expect(await meet('GET', 0.6)).toBe(404);
    expect(await meet('GET', 0.4, 0)).toBe(429);
    expect(await meet('GET', 0.4, 0.2)).toBe(500);
    expect(await meet('GET', 0.4, 0.4)).toBe(503);
    expect([await meet('PUT', 0.4, 0.7), members.size]).toEqual(['lost', 0]);
    expect([await meet('PUT', 0.4, 0.9), members.size]).toEqual(['lost', 1]);
    expect(await meet('GET', 0.4, 0.99)).toBe(404);
  });

  it.each([
    [true, 1],
    [false, 3],
  ])('uses a connection again only for a target in the same process: %s', async (inProcess, connections) => {
    const target = createServer((_, response) => response.end());
    const opened: unknown[] = [];
    target.on('connection', (socket) => opened.push(socket));
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => target.close(resolve)));
    const to = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
    const front = await startFront({ to, now: () => 0, inProcess });
    closing.push(async () => front[Symbol.asyncDispose]());
    for (const path of ['/a', '/b', '/c']) expect((await fetch(`${front.url}${path}`)).status).toBe(200);
    expect(opened).toHaveLength(connections);
  });

  it('cuts the connection when there is no target', async () => {
    const front = await startFront({ to: 'http://127.0.0.1:1', now: () => 0 });
    closing.push(async () => front[Symbol.asyncDispose]());
    await expect(fetch(front.url)).rejects.toThrow('fetch failed');
    expect(front.journal[0]?.target).toBeUndefined();
  });
});
