import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { delay, listen, stopListening } from '../src/index.js';

/** Opens connections, sends a POST on each, counts the sent requests while the server's thread is busy, and reports each status. */
const client = `
const { workerData, parentPort } = require('node:worker_threads');
const { connect } = require('node:net');
const { port, count, sent } = workerData;
for (let index = 0; index < count; index++) {
  let answer = '';
  let told = false;
  const tell = (status) => { if (!told) parentPort.postMessage(status); told = true; };
  const socket = connect(port, '127.0.0.1', () => {
    socket.write('POST / HTTP/1.1\\r\\nHost: belay\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n', () => {
      Atomics.add(new Int32Array(sent), 0, 1);
      Atomics.notify(new Int32Array(sent), 0);
    });
  });
  socket.on('data', (data) => { answer += data; });
  socket.on('error', (error) => tell(error.code));
  socket.on('close', () => tell(answer.split(' ')[1] ?? 'closed'));
}`;

/** Waits for a limit that never passes; rejects when the wait is aborted. */
async function untilOver(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}

describe('stopListening', { timeout: 20_000 }, () => {
  const workers: Worker[] = [];
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.terminate())));

  /** Returns the status of each request. This thread is blocked, as by long work, until the client has sent all of them. */
  function sendWhileBusy(port: number, count: number): Promise<string[]> {
    const sent = new SharedArrayBuffer(4);
    const worker = new Worker(client, { eval: true, workerData: { port, count, sent } });
    workers.push(worker);
    const statuses: string[] = [];
    const all = new Promise<string[]>((resolve) => {
      worker.on('message', (status: string) => {
        if (statuses.push(status) === count) resolve(statuses);
      });
    });
    for (let taken = 0; taken < count; taken = Atomics.load(new Int32Array(sent), 0))
      Atomics.wait(new Int32Array(sent), 0, taken);
    return all;
  }

  it('answers requests that were sent before it, on connections that it had not looked at', async () => {
    const server = await listen((_request, response) => response.end(), 0, '127.0.0.1');
    const { port } = server.address() as AddressInfo;
    const statuses = sendWhileBusy(port, 40);
    const stopped = stopListening(server, delay);
    expect(await statuses).toEqual(Array.from({ length: 40 }, () => '200'));
    await stopped;
  });

  /** Sends a request on a connection of the agent, and reads its response to the end. */
  async function send(port: number, agent: Agent): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', agent, method: 'POST' }, (response) => {
        response.resume().once('end', () => resolve(response));
      });
      sent.once('error', reject).end();
    });
  }

  it('answers a request on a kept connection after the port has closed, and ends that connection', async () => {
    const server = await listen((_request, response) => response.end(), 0, '127.0.0.1');
    const { port } = server.address() as AddressInfo;
    const agent = new Agent({ keepAlive: true });
    expect((await send(port, agent)).headers.connection).toBe('keep-alive');
    // No limit passes, so the connection ends by itself.
    const stopped = stopListening(server, async (_milliseconds, signal) => untilOver(signal));
    await expect.poll(() => server.listening).toBe(false);
    const response = await send(port, agent);
    expect([response.statusCode, response.headers.connection]).toEqual([200, 'close']);
    await stopped;
  });

  it('sends a response completely to a client that reads slowly', async () => {
    const size = 20_000_000;
    const server = await listen((_request, response) => response.end(Buffer.alloc(size)), 0, '127.0.0.1');
    const { port } = server.address() as AddressInfo;
    let read = 0;
    const socket = connect(port, '127.0.0.1');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write('POST / HTTP/1.1\r\nHost: belay\r\nContent-Length: 0\r\n\r\n');
    await new Promise((resolve) => socket.once('data', (data) => resolve((read += data.length))));
    socket.pause();
    // The limit of connections without a request, which is the shorter one, passes at once.
    const stopped = stopListening(server, async (milliseconds, signal) => {
      if (milliseconds > 1_000) await untilOver(signal);
    });
    await expect.poll(() => server.listening).toBe(false);
    socket.on('data', (data) => (read += data.length)).resume();
    await ended;
    await stopped;
    expect(read).toBeGreaterThan(size);
  });

  it('closes its port within seconds though connections arrive without end, each with some work', async () => {
    const work = (_request: IncomingMessage, response: ServerResponse) => {
      for (const until = performance.now() + 15; performance.now() < until; );
      response.end();
    };
    const server = await listen(work, 0, '127.0.0.1');
    const { port } = server.address() as AddressInfo;
    let going = true;
    const one = () => fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } }).catch(() => undefined);
    const all = Promise.all(
      Array.from({ length: 20 }, async () => {
        while (going) await one();
      }),
    );
    await one();
    const began = performance.now();
    let closed: number | undefined;
    await stopListening(server, async () => {
      closed ??= performance.now();
    });
    going = false;
    await all;
    expect(server.listening).toBe(false);
    expect((closed ?? Number.POSITIVE_INFINITY) - began).toBeLessThan(4_000);
  });
});
