import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer as listen, type Socket } from 'node:net';
import { findPeer } from '@belay/host';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeAsRoot } from '../../embedded-postgres/test/support/describe-as-root.js';
import { type Local, makeCredential, startLocal } from './support/local.js';

let world: World;
let local: Local;
let port: string;
beforeAll(async () => {
  world = await createWorld();
  local = await startLocal(world, { mode: 'agent', credential: await makeCredential(world, 'hostile') });
  ({ port } = new URL(local.url));
});
afterAll(async () => {
  await local?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  if ((await local.call('GET', '/session/demo')).status !== 200) await local.signIn('requester');
});

/** Returns the session that the attacks try to get or change. */
const session = async () => JSON.stringify((await local.call('GET', '/session/demo')).json);
const secret = async () => (JSON.parse(await session()) as { session: { session: string } }).session.session;

describe('hostile requests to an agent', () => {
  const body = () => JSON.stringify({ code: 'x', provider: 'demo', session: 'x' });
  const attacks: [string, { method?: string; path?: string; headers: Record<string, string>; body?: string }][] = [
    ['a page of another origin reads', { headers: { origin: 'https://evil.test' } }],
    [
      'a page of another port of this machine reads',
      { headers: { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' } },
    ],
    ['a page without an origin of its own reads', { headers: { origin: 'null' } }],
    [
      'a page loads it as a script or an image',
      { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' } },
    ],
    [
      'a page frames it',
      {
        path: '/providers',
        headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      },
    ],
    [
      'a link of another site begins a sign-in',
      {
        path: '/auth?provider=demo',
        headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      },
    ],
    ['a name that was made to lead here is used (DNS rebinding)', { headers: { host: 'rebound.test' } }],
    ['the same with our port', { headers: { host: 'rebound.test:PORT' } }],
    ['our name with another port', { headers: { host: '127.0.0.1:1' } }],
    [
      'a form of another site posts',
      { method: 'POST', headers: { origin: 'https://evil.test', 'content-type': 'text/plain' }, body: body() },
    ],
    [
      'a script of another site posts JSON',
      { method: 'POST', headers: { origin: 'https://evil.test', 'content-type': 'application/json' }, body: body() },
    ],
    [
      'a script of another site deletes',
      { method: 'DELETE', path: '/session/demo', headers: { origin: 'https://evil.test' } },
    ],
    [
      'a script of another site asks whether it may',
      {
        method: 'OPTIONS',
        path: '/session/demo',
        headers: { origin: 'https://evil.test', 'access-control-request-method': 'DELETE' },
      },
    ],
    [
      'a script of another site uses the SDK’s door',
      { path: '/trpc/sessions.list', headers: { origin: 'https://evil.test' } },
    ],
    [
      'a page opens a WebSocket',
      {
        headers: {
          origin: 'https://evil.test',
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-key': 'x',
          'sec-websocket-version': '13',
        },
      },
    ],
    [
      'a way back from a sign-in is framed',
      {
        path: `/auth/return/${'a'.repeat(43)}?code=x`,
        headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      },
    ],
  ];
  it.each(attacks)(
    '%s: rejected, and nothing said',
    async (_, { method = 'GET', path = '/sessions', headers, body: sent }) => {
      const before = await session();
      const filled = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', port)]),
      );
      const answer = await send(`${local.url}${path}`, {
        method,
        headers: { ...filled, ...(sent === undefined ? {} : { 'content-length': String(sent.length) }) },
        ...(sent === undefined ? {} : { body: sent }),
      });
      expect(answer.status).toBe(403);
      expect(answer.body).not.toContain(await secret());
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(await session()).toBe(before);
    },
  );
});

describe('requests that are written by hand', () => {
  const exchange = (head: string) =>
    new Promise<string>((resolve, reject) => {
      let said = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(`${head}\r\nConnection: close\r\n\r\n`));
      socket.on('data', (data) => {
        said += String(data);
      });
      socket.once('error', reject);
      socket.once('close', () => resolve(said));
    });
  const ours = () => `Host: 127.0.0.1:${port}`;

  it.each<[string, number, () => string]>([
    ['two hosts, the first of them ours', 403, () => `GET /sessions HTTP/1.1\r\n${ours()}\r\nHost: evil.test`],
    ['two hosts, the second of them ours', 403, () => `GET /sessions HTTP/1.1\r\nHost: evil.test\r\n${ours()}`],
    ['no host', 403, () => 'GET /sessions HTTP/1.0'],
    ['our name with a dot', 403, () => `GET /sessions HTTP/1.1\r\nHost: localhost.:${port}`],
    ['a name before an @', 403, () => `GET /sessions HTTP/1.1\r\nHost: evil.test@127.0.0.1:${port}`],
    ['another host in the request line', 404, () => `GET http://evil.test/sessions HTTP/1.1\r\n${ours()}`],
    [
      'another host on a connection that was let in',
      403,
      () => `OPTIONS /ready HTTP/1.1\r\n${ours()}\r\n\r\nGET /sessions HTTP/1.1\r\nHost: evil.test`,
    ],
  ])('with %s: nothing is said', async (_, status, head) => {
    const said = await exchange(head());
    expect(said).toContain(`HTTP/1.1 ${status} `);
    expect(said).not.toContain(await secret());
  });
});

describeAsRoot('another user of this machine', () => {
  /** Runs a program as the user `nobody` that sends these bytes and either waits for the response or exits at once. */
  const asNobody = (bytes: string, wait: boolean, from = '') =>
    new Promise<string>((resolve, reject) => {
      const script = `const s=require('node:net').connect({${from}port:${port},host:'127.0.0.1'},()=>{s.write(${JSON.stringify(bytes)},()=>{${wait ? '' : 'process.exit(0)'}})});s.on('data',d=>process.stdout.write(d));s.on('end',()=>process.exit(0));`;
      const child = spawn(process.execPath, ['-e', script], {
        uid: 65_534,
        gid: 65_534,
        cwd: '/',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      child.stdout.on('data', (data) => {
        said += String(data);
      });
      child.once('error', reject);
      child.once('close', () => resolve(said));
    });
  const ask = (method: string, path: string) =>
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;

  it('reads nothing', async () => {
    const said = await asNobody(ask('GET', '/sessions'), true);
    expect(said).toMatch(/^HTTP\/1.1 403 /);
    expect(said).not.toContain(await secret());
  });

  it('removes nothing, even when it is gone before it is asked who it was', async () => {
    const before = await session();
    for (let turn = 0; turn < 5; turn++) await asNobody(ask('DELETE', '/session/demo'), false);
    expect(await session()).toBe(before);
  });

  it('reads nothing from another address of this machine, with the port of a program of ours', async () => {
    const ours = connect(Number(port), '127.0.0.1');
    await new Promise((resolve) => ours.once('connect', resolve));
    try {
      const from = `localAddress:'127.0.0.2',localPort:${ours.localPort},`;
      const said = await asNobody(ask('GET', '/sessions'), true, from);
      expect(said).toMatch(/^HTTP\/1.1 403 /);
      expect(said).not.toContain(await secret());
    } finally {
      ours.destroy();
    }
  });

  it('is told apart from root and from us on one machine', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(ask('GET', '/ready')));
      socket.once('data', (data) => resolve(String(data)));
      socket.once('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe.runIf(process.platform === 'linux')('who is at the other end', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['127.0.0.1', '::ffff:127.0.0.1'],
    ['::', '127.0.0.1'],
  ])(
    'of a listener on %s that is called at %s is found, and no owner is when the table cannot be read',
    async (at, to) => {
      const server = listen();
      await new Promise<void>((resolve) => server.listen(0, at, resolve));
      const socket = connect((server.address() as AddressInfo).port, to);
      const [accepted] = (await once(server, 'connection')) as [Socket];
      try {
        expect(await findPeer(accepted)).toBe(process.getuid?.());
        // As on a machine where another user has opened so many connections that no more files can be opened.
        // biome-ignore lint/correctness/useYield: it fails before it returns anything
        const unreadable = async function* (): AsyncGenerator<string> {
          throw new Error('EMFILE');
        };
        expect(await findPeer(accepted, unreadable)).toBe('nobody');
      } finally {
        socket.destroy();
        accepted.destroy();
        server.close();
      }
    },
  );
});
