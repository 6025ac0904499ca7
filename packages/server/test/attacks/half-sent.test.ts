import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { startDemoIdentityProvider } from '@belay/demo';
import { delay, listen } from '@belay/program';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDemoControl } from '../../../demo/src/control.js';

/** Attacks by clients that never finish their requests, to use up the connections of a server. */

const doors: Record<string, string> = {};
const closing: (() => unknown)[] = [];
let server: Server;
const bound = 10_000;
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

beforeAll(async () => {
  // Reads the whole body, as every handler of a form or of JSON does.
  server = await listen(
    (request, response) => void request.resume().on('end', () => response.end('whole')),
    0,
    '127.0.0.1',
  );
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  doors.belay = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const idp = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: [],
    clients: [],
    cookieKeys: [randomBytes(24).toString('hex')],
    log: () => {},
  });
  closing.push(idp.close);
  doors.idp = idp.issuer;
  const control = await startDemoControl({ port: 0, secret: 'x', databaseUrl: 'postgres://nowhere', log, delay });
  closing.push(control.close);
  doors.control = control.url;
});
afterAll(() => Promise.all(closing.map((close) => close())));

/** Sends `begin`, then `drop` every 300 ms, and returns the milliseconds until the server ended the connection. */
function trickle(url: string, begin: string, drop: string): Promise<number> {
  const { port } = new URL(url);
  const from = performance.now();
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(begin);
    const timer = drop === '' ? undefined : setInterval(() => socket.write(drop), 300);
    socket.on('error', () => {});
    socket.on('data', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(performance.now() - from);
    });
  });
}

it('ends each of them within ten seconds, at every listener, however slowly they go on', async () => {
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const ways: [string, string, string][] = [
    ['says nothing', '', ''],
    ['begins a head', 'GET / HTTP/1.1\r\nHost:', ''],
    ['goes on with a head', 'GET / HTTP/1.1\r\n', 'X-A: b\r\n'],
    ['begins a body', `${post}Content-Length: 1000\r\n\r\n{`, ''],
    ['goes on with a body', `${post}Content-Length: 1000\r\n\r\n{`, ' '],
    ['goes on with a chunked body', `${post}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
    ['begins another request after one', 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n', ''],
  ];
  const attempts = Object.entries(doors).flatMap(([door, url]) =>
    ways.map(async ([way, begin, drop]) => {
      const took = await trickle(url, begin, drop);
      expect(took, `${door}: one that ${way}`).toBeLessThan(bound + 10_000);
    }),
  );
  await Promise.all(attempts);
  const answer = await fetch(doors.belay ?? '', { method: 'POST', body: 'x' });
  expect(await answer.text()).toBe('whole');
});
