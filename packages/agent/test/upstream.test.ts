import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openUpstream } from '../src/upstream.js';

async function serve(answer: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const megabyte = 1024 * 1024;
/** More bytes than an agent has memory for. */
const flood = 256 * megabyte;
const json = { 'content-type': 'application/json' };

describe('a server that is out of its mind', () => {
  it.each([200, 400])('is not listened to without end, when it answers %i', async (status) => {
    let sent = 0;
    await using server = await serve((_request, response) => {
      response.writeHead(status, json);
      response.write('{"result":{"data":"');
      const pour = () => {
        if (sent >= flood) return void response.end('"}}');
        sent += megabyte;
        if (response.write('x'.repeat(megabyte))) setImmediate(pour);
        else response.once('drain', pour);
      };
      pour();
    });
    const asked = openUpstream(server.url).sync('credential');
    await expect(asked).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/larger than an agent accepts/),
    });
    expect(sent).toBeLessThan(flood);
  });

  it('is not unpacked without end', async () => {
    const bomb = gzipSync(Buffer.alloc(flood, 'x'));
    await using server = await serve((_request, response) => {
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb);
    });
    const asked = openUpstream(server.url).sync('credential');
    await expect(asked).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/larger than an agent accepts/),
    });
  });

  it('sends a credential nowhere else by a redirect', async () => {
    const elsewhere: unknown[] = [];
    await using other = await serve((request, response) => {
      elsewhere.push(request.headers);
      response.writeHead(200, json).end('{"result":{"data":{}}}');
    });
    for (const status of [301, 302, 303, 307, 308]) {
      await using server = await serve((_request, response) => {
        response.writeHead(status, { location: other.url }).end();
      });
      await expect(openUpstream(server.url).adopt('credential', 'next')).rejects.toMatchObject({ code: 'unavailable' });
    }
    expect(elsewhere).toEqual([]);
  });
});
