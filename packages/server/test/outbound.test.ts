import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AllowedHost, createOutbound, type OutboundOptions } from '../src/outbound.js';

let server: Server;
let port = 0;
const seen: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host}${request.url}`);
    const path = request.url ?? '/';
    if (path === '/away') response.writeHead(302, { location: `http://localhost:${port}/` }).end();
    else if (path === '/home') response.writeHead(307, { location: '/echo' }).end();
    else if (path === '/loop') response.writeHead(302, { location: '/loop' }).end();
    else if (path === '/large') response.end('x'.repeat(3_000));
    else if (path === '/zipped')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(3_000)));
    else if (path === '/slow') response.writeHead(200).write('begins');
    else if (path === '/empty') response.writeHead(204).end();
    else request.pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function outbound(allowed: (string | AllowedHost)[], options: Partial<OutboundOptions> = {}) {
  seen.length = 0;
  const hosts = allowed.map((entry) => (typeof entry === 'string' ? { host: entry, allowPrivate: false } : entry));
  return createOutbound({ allowed: () => hosts, ...options });
}

/** Returns an entry with `allow_private: true`. */
const open = (host: string): AllowedHost => ({ host, allowPrivate: true });

async function refusal(answer: Promise<Response>): Promise<string> {
  const error = await answer.then(
    () => new Error('was allowed'),
    (thrown: unknown) => thrown as Error,
  );
  return `${error.name}: ${error.message}`;
}

describe('the outbound fence', () => {
  it('reaches nothing when nothing is listed', async () => {
    expect(await refusal(outbound([])(new Request(`http://127.0.0.1:${port}/`)))).toContain(
      'not listed in server.http_hosts',
    );
    expect(seen).toEqual([]);
  });

  it('sends method, headers and body to a loopback address that is listed with its port', async () => {
    const answer = await outbound([open(`127.0.0.1:${port}`)])(
      new Request(`http://127.0.0.1:${port}/echo`, { method: 'POST', body: 'hello' }),
    );
    expect([answer.status, await answer.text()]).toEqual([200, 'hello']);
    expect(seen).toEqual([`POST 127.0.0.1:${port}/echo`]);
  });

  it('does not take a listed host as leave to use every port of it', async () => {
    expect(await refusal(outbound(['127.0.0.1'])(new Request(`http://127.0.0.1:${port}/`)))).toContain('not listed');
    expect(seen).toEqual([]);
  });

  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '224.0.0.1',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fd00::1',
    'fe80::1',
  ])('rejects a listed name that leads to %s', async (address) => {
    const client = outbound(['api.example.com'], { resolve: async () => [address] });
    expect(await refusal(client(new Request('http://api.example.com/')))).toContain('resolves to a private address');
    expect(seen).toEqual([]);
  });

  it.each(['http://127.0.0.1/', 'http://2130706433/', 'http://0x7f.1/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/'])(
    'rejects the address %s even when it is listed without its port',
    async (url) => {
      expect(await refusal(outbound([new URL(url).hostname])(new Request(url)))).toContain(
        'resolves to a private address',
      );
    },
  );

  it.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', 'fd00:ec2::254'])(
    'rejects a name that is listed with its port and leads to %s, without allow_private',
    async (address) => {
      const client = outbound(['api.example.com:8080'], { resolve: async () => [address] });
      expect(await refusal(client(new Request('http://api.example.com:8080/')))).toContain('allow_private: true');
      const [host, url] =
        isIP(address) === 6
          ? [`[${address}]`, `http://[${address}]:${port}/`]
          : [address, `http://${address}:${port}/`];
      expect(await refusal(outbound([`${host}:${port}`])(new Request(url)))).toContain('resolves to a private address');
      expect(seen).toEqual([]);
    },
  );

  it.each([
    '169.254.169.254',
    '100.100.100.200',
    'fd00:ec2::254',
    'fe80::1',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:127.0.0.1',
    '64:ff9b::a00:1',
    '2002:a00:1::',
  ])('does not open %s even with allow_private', async (address) => {
    const client = outbound([open('api.example.com')], { resolve: async () => [address] });
    expect(await refusal(client(new Request('http://api.example.com/')))).toContain('resolves to a private address');
    const host = isIP(address) === 6 ? `[${address}]` : address;
    const direct = new Request(`http://${host}/`);
    expect(await refusal(outbound([open(new URL(direct.url).hostname)])(direct))).toContain(
      'resolves to a private address',
    );
  });

  it('checks the address again at each redirect', async () => {
    const answers = ['127.0.0.1', '169.254.169.254'];
    const client = outbound([open(`turning.example.com:${port}`)], { resolve: async () => [answers.shift() ?? ''] });
    const answer = client(new Request(`http://turning.example.com:${port}/home`));
    expect(await refusal(answer)).toContain('resolves to a private address');
    expect(seen).toEqual([`GET turning.example.com:${port}/home`]);
  });

  it('resolves a name once and connects to the address that was checked, even when the name changes later', async () => {
    let asked = 0;
    const client = outbound([open(`rebind.example.com:${port}`)], {
      resolve: async () => [++asked === 1 ? '127.0.0.1' : '192.0.2.1'],
    });
    const answer = await client(new Request(`http://rebind.example.com:${port}/echo`));
    expect(answer.status).toBe(200);
    expect(asked).toBe(1);
    expect(seen).toEqual([`GET rebind.example.com:${port}/echo`]);
  });

  it('takes a public address over a private one of the same name', async () => {
    const client = outbound(['api.example.com'], { resolve: async () => ['10.0.0.1', 'not-an-address'] });
    expect(await refusal(client(new Request('http://api.example.com/')))).toContain('resolves to a private address');
  });

  it('rejects other schemes and credentials in the URL', async () => {
    const client = outbound(['example.com', open(`127.0.0.1:${port}`)]);
    expect(await refusal(client(new Request('ftp://example.com/')))).toContain('Only http and https');
    const withCredentials = new Request(`http://127.0.0.1:${port}/`);
    Object.defineProperty(withCredentials, 'url', { value: `http://a:b@127.0.0.1:${port}/` });
    expect(await refusal(client(withCredentials))).toContain('Credentials in a URL');
  });

  it('follows a redirect on the same host and none to another', async () => {
    const client = outbound([open(`127.0.0.1:${port}`), open(`localhost:${port}`)]);
    expect((await client(new Request(`http://127.0.0.1:${port}/home`))).url).toBe(`http://127.0.0.1:${port}/echo`);
    expect(await refusal(client(new Request(`http://127.0.0.1:${port}/away`)))).toContain('another host');
    expect(await refusal(client(new Request(`http://127.0.0.1:${port}/loop`)))).toContain('Too many redirects');
    expect(seen.some((line) => line.includes('localhost'))).toBe(false);
  });

  it('bounds the size of a response, also one that is small only while it is compressed', async () => {
    const client = outbound([open(`127.0.0.1:${port}`)], { maximumBytes: 2_000 });
    expect(await refusal(client(new Request(`http://127.0.0.1:${port}/large`)))).toContain('larger than 2000 bytes');
    expect(await refusal(client(new Request(`http://127.0.0.1:${port}/zipped`)))).toContain('larger than 2000 bytes');
  });

  it('bounds the time of a request with its body', async () => {
    const client = outbound([open(`127.0.0.1:${port}`)], { timeoutMilliseconds: 200 });
    expect(await refusal(client(new Request(`http://127.0.0.1:${port}/slow`)))).toMatch(/Timeout|abort/i);
  });

  it('hands on an answer without a body', async () => {
    expect((await outbound([open(`127.0.0.1:${port}`)])(new Request(`http://127.0.0.1:${port}/empty`))).status).toBe(
      204,
    );
  });
});
