import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { createBoundedFetch, tooLarge } from '../src/bounded-fetch.js';

async function serve(answer: RequestListener): Promise<{ url: string } & AsyncDisposable> {
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

const bounded = createBoundedFetch({ bytes: 10_000, milliseconds: 60_000 });

it('returns what is within the bounds as it came', async () => {
  await using server = await serve((_, response) =>
    response.writeHead(201, { 'x-of': 'ours' }).end('y'.repeat(10_000)),
  );
  const response = await bounded(server.url);
  expect([response.status, response.headers.get('x-of')]).toEqual([201, 'ours']);
  expect(await response.text()).toHaveLength(10_000);
});

it('ends a response that is larger, also one that only unpacking makes large', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/zipped') response.setHeader('content-encoding', 'gzip').end(gzipSync('y'.repeat(1_000_000)));
    else response.end('y'.repeat(10_001));
  });
  for (const path of ['/plain', '/zipped']) {
    const response = await bounded(`${server.url}${path}`);
    await expect(response.text()).rejects.toMatchObject({ code: tooLarge });
  }
});

it('ends a response that takes too long, before its head and within its body', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/body') response.write('begun');
  });
  const brief = createBoundedFetch({ bytes: 10_000, milliseconds: 50 });
  await expect(brief(`${server.url}/head`)).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect((await brief(`${server.url}/body`)).text()).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('ends with the signal of its caller', async () => {
  await using server = await serve((_, response) => void response.write('begun'));
  const ended = new AbortController();
  const response = await bounded(server.url, { signal: ended.signal });
  ended.abort(new Error('no longer wanted'));
  await expect(response.text()).rejects.toThrow('no longer wanted');
  await expect(bounded(server.url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
});

it('follows no redirect', async () => {
  let asked = 0;
  await using other = await serve((_, response) => {
    asked += 1;
    response.end();
  });
  await using server = await serve((_, response) => response.writeHead(302, { location: other.url }).end());
  await expect(bounded(server.url)).rejects.toThrow();
  expect(asked).toBe(0);
});
