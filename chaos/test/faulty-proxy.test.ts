import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../src/faulty-proxy.js';

describe('the faulty proxy', () => {
  let heard: string[];
  let ended: number;
  let echo: ReturnType<typeof createServer>;
  let proxy: FaultyProxy;
  const clients: Socket[] = [];

  beforeEach(async () => {
    heard = [];
    ended = 0;
    echo = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('close', () => {
        ended += 1;
      });
      socket.on('data', (data) => {
        heard.push(String(data));
        socket.write(data);
      });
    }).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    proxy = await startFaultyProxy({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await proxy[Symbol.asyncDispose]();
    echo.close();
  });

  async function open() {
    const socket = connect(proxy.port, '127.0.0.1');
    clients.push(socket);
    let answers = '';
    let fault: string | undefined;
    socket.on('data', (data) => {
      answers += String(data);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      fault = error.code;
    });
    await new Promise<void>((resolve) => void socket.once('connect', resolve).once('close', resolve));
    return { socket, answers: () => answers, fault: () => fault };
  }

  it('passes on what is sent, in both directions', async () => {
    const { socket, answers } = await open();
    socket.write('one');
    await expect.poll(answers).toBe('one');
  });

  it('resets open connections, and rejects new ones for as long as it is told', async () => {
    const first = await open();
    proxy.lose('reset');
    await expect.poll(first.fault).toBe('ECONNRESET');
    proxy.refuse(true);
    const second = await open();
    await expect.poll(() => second.socket.destroyed).toBe(true);
    proxy.refuse(false);
    const third = await open();
    third.socket.write('three');
    await expect.poll(third.answers).toBe('three');
  });

  it('leaves a half-open connection silent: the server has closed, and the client is not told', async () => {
    const { socket, answers } = await open();
    socket.write('one');
    await expect.poll(answers).toBe('one');
    proxy.lose('half-open');
    await expect.poll(() => ended).toBe(1);
    socket.write('two');
    const other = await open();
    other.socket.write('three');
    await expect.poll(other.answers).toBe('three');
    expect(answers()).toBe('one');
    expect(socket.destroyed).toBe(false);
    expect(heard).toEqual(['one', 'three']);
  });

  it('swallows what is sent, accepts meanwhile, and keeps the connections of that time mute', async () => {
    const before = await open();
    proxy.swallow(true);
    const during = await open();
    before.socket.write('before');
    during.socket.write('during');
    proxy.swallow(false);
    const after = await open();
    after.socket.write('after');
    await expect.poll(after.answers).toBe('after');
    expect([before.answers(), during.answers()]).toEqual(['', '']);
    expect(heard).toEqual(['after']);
  });

  it('resets in place of an answer, after the server did what was requested', async () => {
    const { socket, answers, fault } = await open();
    proxy.loseAnswers(() => true);
    socket.write('one');
    await expect.poll(fault).toBe('ECONNRESET');
    expect(answers()).toBe('');
    expect(heard).toEqual(['one']);
  });

  it('delays every chunk and keeps their order when the delay ends', async () => {
    const { socket, answers } = await open();
    proxy.delay(150);
    const started = performance.now();
    socket.write('a');
    await expect.poll(() => heard).toEqual(['a']);
    proxy.delay(0);
    socket.write('b');
    await expect.poll(answers).toBe('ab');
    expect(performance.now() - started).toBeGreaterThan(140);
  });
});
