import { createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { findListeners, findPeer } from '../src/loopback-owner.js';

const isLinux = process.platform === 'linux';
const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0');
const row = (local: string, remote: string, state: string, uid: number, inode = 7) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${inode} 1\n`;
/** Returns a reader that returns the text of a table in pieces, some of which end within a row. */
const inPieces = (textOf: (path: string) => string) =>
  async function* (path: string) {
    for (const [piece] of textOf(path).matchAll(/.{1,50}/gs)) yield piece;
  };

it.runIf(isLinux)('knows who listens, at an address of ours and at all of them', async () => {
  const server = createServer();
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const { port } = server.address() as { port: number };
    expect(await findListeners(`http://127.0.0.1:${port}`)).toEqual([process.getuid?.()]);
    expect(await findListeners(`http://localhost:${port}`)).toEqual([process.getuid?.()]);
    await new Promise((resolve) => server.close(resolve));
    expect(await findListeners(`http://127.0.0.1:${port}`)).toEqual([]);
  }
});

it.runIf(isLinux)('finds no owner when the table cannot be read', async () => {
  // biome-ignore lint/correctness/useYield: it fails before it returns anything
  async function* unreadable(): AsyncGenerator<string> {
    throw new Error('EMFILE');
  }
  expect(await findListeners('http://127.0.0.1:80', unreadable)).toEqual([]);
  const socket = { remoteAddress: '127.0.0.1', remotePort: 1, localAddress: '127.0.0.1', localPort: 2 } as Socket;
  expect(await findPeer(socket, unreadable)).toBe('nobody');
});

it('says nothing of other machines', async () => {
  for (const url of ['http://192.0.2.1:80', 'https://belay.example', 'http://[2001:db8::1]:80']) {
    expect(await findListeners(url)).toBeUndefined();
  }
});

it.runIf(isLinux)(
  'tells a connection’s other end from another user’s at the same port of another address',
  async () => {
    const at = (address: string, port: number) => `${address}:${hex(port, 4)}`;
    const [one, two] = ['0100007F', '0200007F'];
    const table = (rows: string) => inPieces((path) => (path.endsWith('tcp') ? `head\n${rows}` : ''));
    const socket = { remoteAddress: '127.0.0.1', remotePort: 41, localAddress: '127.0.0.1', localPort: 80 } as Socket;
    const foreign = row(at(two, 41), at(one, 80), '01', 1234);
    const own = row(at(one, 41), at(one, 80), '01', 1000);
    expect(await findPeer(socket, table(foreign + own))).toBe(1000);
    expect(await findPeer(socket, table(foreign))).toBe('nobody');
    // Closed by its program: the table then has the uid 0, which does not mean root.
    expect(await findPeer(socket, table(row(at(one, 41), at(one, 80), '06', 0, 0)))).toBe('nobody');
    expect(await findPeer({ ...socket, remoteAddress: '::ffff:127.0.0.1' } as Socket, table(own))).toBe(1000);
  },
);

it.runIf(isLinux)(
  'knows who listens at ::1 and at every address of IPv6, and not who listens at another port',
  async () => {
    const listens = (local: string) => row(local, '00000000:0000', '0A', 1000);
    const table = (rows: string) => inPieces((path) => (path.endsWith('tcp6') ? `head\n${rows}` : ''));
    const loopback = '00000000000000000000000001000000';
    for (const address of [loopback, '0'.repeat(32)]) {
      expect(await findListeners('http://[::1]:8080', table(listens(`${address}:1F90`)))).toEqual([1000]);
    }
    expect(await findListeners('http://[::1]:8080', table(listens(`${loopback}:1F91`)))).toEqual([]);
  },
);
