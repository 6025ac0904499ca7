import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { Retryable, Terminal } from '../../src/errors.js';
import { type HttpCall, type HttpClient, type HttpOptions, openHttpClient, path } from '../../src/http/client.js';
import { nextByCursor, nextByLink, readPages } from '../../src/http/pages.js';
import { fixedCredentials, readCredentials, tokenCredentials } from '../../src/http/tokens.js';
import { waitUntilReset } from '../../src/http/wait.js';
import { makeCertificate } from '../support/certificate.js';
import { everythingIn, faultOf } from '../support/tools.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const calm = () => new AbortController().signal;
const anything = z.unknown();
const get: HttpCall = { method: 'GET', path: '/things' };

/** Opens a real server and a client of it. `asked` has the requests that the server received. */
async function open(handler: Handler, options: Partial<HttpOptions> = {}, tls?: { key: string; cert: string }) {
  const asked: IncomingMessage[] = [];
  const listener: Handler = (request, response) => {
    asked.push(request);
    handler(request, response);
  };
  const server = tls ? createHttps(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = (server.address() as AddressInfo).port;
  const url = tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  const client = await openHttpClient({ service: 'The directory', url, now: () => 0, ...options });
  opened.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  opened.push(() => client.close());
  return { client, asked, url, server };
}

const answering =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Handler =>
  (_request, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };

describe('the HTTP client of connectors', () => {
  it('sends JSON and forms, and returns the JSON that the schema describes', async () => {
    const bodies: string[] = [];
    const { client, asked } = await open((request, response) => {
      request.on('data', (part) => bodies.push(String(part)));
      request.on('end', () => response.end('{"name":"Ops","more":1}'));
    });
    const schema = z.object({ name: z.string() });
    const call = { path: path`/groups/${'a/b?c'}/x`, query: { q: 'é&', none: undefined }, schema };
    expect(await client.ask({ ...call, method: 'POST', json: { a: 1 } }, calm())).toEqual({ name: 'Ops' });
    await client.ask({ ...call, method: 'POST', form: { a: 'b c' } }, calm());
    expect(asked[0]?.url).toBe('/groups/a%2Fb%3Fc/x?q=%C3%A9%26');
    expect(bodies).toEqual(['{"a":1}', 'a=b+c']);
    expect(asked.map((one) => one.headers['content-type'])).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
    ]);
  });

  it.each(['', '.', '..', '\ud800'])('rejects the name %j as a segment of a path', (name) => {
    expect(() => path`/groups/${name}/members`).toThrow(Terminal);
  });

  it('puts the path of the address before that of each call', async () => {
    const { asked, url } = await open(answering(200));
    const client = await openHttpClient({ service: 'X', url: `${url}/api/v3/`, now: () => 0 });
    opened.push(() => client.close());
    await client.send(get, calm());
    expect(asked[0]?.url).toBe('/api/v3/things');
  });

  it.each(['http://example.com', 'https://u:p@example.com', 'https://example.com/?a=b', 'ftp://127.0.0.1', 'x'])(
    'rejects the address %s',
    async (url) => {
      await expect(openHttpClient({ service: 'X', url, now: () => 0 })).rejects.toBeInstanceOf(Terminal);
    },
  );

  it('returns null from find for 404 only', async () => {
    let status = 404;
    const { client } = await open((request, response) => answering(status)(request, response));
    expect(await client.find({ ...get, schema: anything }, calm())).toBeNull();
    status = 410;
    await expect(client.find({ ...get, schema: anything }, calm())).rejects.toBeInstanceOf(Terminal);
  });

  it.each([
    [400, Terminal],
    [401, Terminal],
    [403, Terminal],
    [404, Terminal],
    [408, Retryable],
    [409, Retryable],
    [412, Retryable],
    [422, Terminal],
    [425, Retryable],
    [429, Retryable],
    [500, Retryable],
    [503, Retryable],
  ])('explains %i without a word of what the provider wrote', async (status, kind) => {
    const { client, url } = await open(answering(status, { error: 's3cret of 10.0.0.1' }));
    const fault = await faultOf(
      client.send({ ...get, query: { token: 's3cret' }, headers: { 'x-key': 's3cret' } }, calm()),
    );
    expect(fault).toBeInstanceOf(kind);
    expect(fault.message).not.toContain(new URL(url).host);
    expect(everythingIn(fault)).not.toContain('s3cret');
    expect(everythingIn(fault)).toContain('/things');
    expect((await client.send({ ...get, accept: [status] }, calm())).status).toBe(status);
  });

  it('does not follow a redirect', async () => {
    const { client, asked } = await open((request, response) =>
      request.url === '/things' ? answering(302, '', { location: '/other' })(request, response) : response.end('{}'),
    );
    await expect(client.send(get, calm())).rejects.toBeInstanceOf(Terminal);
    expect(asked).toHaveLength(1);
  });

  it('lets the connector explain an answer first', async () => {
    const { client } = await open(answering(200, { ok: false, error: 'invalid_auth' }), {
      explain: ({ body }) => ((body as { ok: boolean }).ok ? undefined : new Terminal('The token is not valid')),
    });
    await expect(client.send(get, calm())).rejects.toThrow('The token is not valid');
  });

  it.each(['<html>Welcome</html>', '{"name":7}', ''])(
    'takes %j for no answer where a schema expects another',
    async (text) => {
      const { client } = await open(answering(200, text));
      const fault = await faultOf(client.ask({ ...get, schema: z.object({ name: z.string() }) }, calm()));
      expect(fault).toBeInstanceOf(Retryable);
      expect(everythingIn(fault)).not.toContain('Welcome');
    },
  );
});

describe('the bounds of a call', () => {
  it('reads no more than the most bytes', async () => {
    const { client } = await open(answering(200, JSON.stringify('x'.repeat(200))), { mostBytes: 100 });
    await expect(client.send(get, calm())).rejects.toBeInstanceOf(Terminal);
    const { client: endless } = await open(
      (_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write('x'.repeat(64)), 1);
        response.on('close', () => clearInterval(timer));
      },
      { mostBytes: 1_000 },
    );
    await expect(endless.send(get, calm())).rejects.toBeInstanceOf(Terminal);
  });

  it.each([
    ['the answer does not begin', () => {}],
    ['the answer does not end', (_request: IncomingMessage, response: ServerResponse) => void response.write('{')],
  ])('ends in time when %s', async (_what, handler) => {
    const { client } = await open(handler, { timeoutMilliseconds: 50 });
    const fault = await faultOf(client.send(get, calm()));
    expect(fault).toBeInstanceOf(Retryable);
    expect(fault.message).toBe('The directory did not respond in time');
  });

  it('ends when the caller says stop, and starts nothing after that', async () => {
    const { client, asked } = await open(() => {});
    const stop = new AbortController();
    const call = client.send(get, stop.signal);
    await vi.waitFor(() => expect(asked).toHaveLength(1), { timeout: 30_000 });
    stop.abort(new Error('shutting down'));
    await expect(call).rejects.toBeInstanceOf(Retryable);
    await expect(client.send(get, stop.signal)).rejects.toBeInstanceOf(Retryable);
    expect(asked).toHaveLength(1);
  });

  it('has no more calls at once than permitted, and lets those go that give up waiting', async () => {
    const held: ServerResponse[] = [];
    const { client, asked } = await open((_request, response) => void held.push(response), { mostAtOnce: 2 });
    const stop = new AbortController();
    const [one, two, impatient, patient] = [calm(), calm(), stop.signal, calm()].map((signal) =>
      client.send(get, signal),
    );
    await vi.waitFor(() => expect(held).toHaveLength(2), { timeout: 30_000 });
    stop.abort();
    await expect(impatient).rejects.toBeInstanceOf(Retryable);
    expect(asked).toHaveLength(2);
    for (const response of held.splice(0)) response.end('{}');
    await Promise.all([one, two]);
    await vi.waitFor(() => expect(held).toHaveLength(1), { timeout: 30_000 });
    for (const response of held) response.end('{}');
    await patient;
    expect(asked).toHaveLength(3);
  });

  it('says that a provider which is not there may be asked again, without its address', async () => {
    const { client, server, url } = await open(answering(200));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const fault = await faultOf(client.send(get, calm()));
    expect(fault).toBeInstanceOf(Retryable);
    expect(fault.message).toBe('The directory cannot be reached');
    expect(fault.message).not.toContain(new URL(url).port);
  });

  it('says the same of an answer that breaks off', async () => {
    const { client } = await open((request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{');
      setImmediate(() => request.socket.destroy());
    });
    await expect(client.send(get, calm())).rejects.toBeInstanceOf(Retryable);
  });
});

describe('a demand to wait', () => {
  const limited = async (headers: Record<string, string>, options: Partial<HttpOptions> = {}, status = 429) => {
    const clock = { now: 1_000_000 };
    let answer = answering(status, {}, headers);
    const opened = await open((request, response) => answer(request, response), { now: () => clock.now, ...options });
    return { ...opened, clock, relent: () => (answer = answering(200)) };
  };
  const waitOf = async (client: HttpClient, call: HttpCall = get) => {
    const fault = await faultOf(client.send(call, calm()));
    return fault instanceof Retryable ? fault.options.afterMilliseconds : 'not retryable';
  };

  it('is obeyed: nothing is sent before its end, by any call of the family', async () => {
    const { client, asked, clock, relent } = await limited({ 'retry-after': '5' });
    expect(await waitOf(client)).toBe(5_000);
    relent();
    clock.now += 2_000;
    expect(await waitOf(client)).toBe(3_000);
    expect(asked).toHaveLength(1);
    await client.send({ ...get, family: 'another' }, calm());
    clock.now += 3_000;
    await client.send(get, calm());
    expect(asked).toHaveLength(3);
  });

  it('holds calls back for the whole of it, up to an hour, and tells core of it', async () => {
    const { client, asked, clock, relent } = await limited({ 'retry-after': '7200' });
    expect(await waitOf(client)).toBe(7_200_000);
    relent();
    clock.now += 59 * 60_000;
    expect(await waitOf(client)).toBe(60_000);
    expect(asked).toHaveLength(1);
    clock.now += 60_000;
    await client.send(get, calm());
  });

  it('is a date by the clock of the provider', async () => {
    const date = 'Sun, 22 Nov 2026 20:00:00 GMT';
    const { client } = await limited({ date, 'retry-after': 'Sun, 22 Nov 2026 20:00:07 GMT' }, {}, 503);
    expect(await waitOf(client)).toBe(7_000);
  });

  it('is read from headers of the vendor', async () => {
    const date = 'Sun, 22 Nov 2026 20:00:00 GMT';
    const reset = String(Date.parse(date) / 1000 + 9);
    const hook = waitUntilReset({ reset: 'x-reset', left: 'x-left', statuses: [403, 429] });
    const { client } = await limited({ date, 'x-reset': reset, 'x-left': '0' }, { waitOf: hook }, 403);
    expect(await waitOf(client)).toBe(9_000);
    const { client: forbidden } = await limited({ date, 'x-reset': reset, 'x-left': '3' }, { waitOf: hook }, 403);
    expect(await waitOf(forbidden)).toBe('not retryable');
  });

  it('is not made of nonsense', async () => {
    const { client } = await limited({ 'retry-after': 'soon' });
    expect(await waitOf(client)).toBeUndefined();
  });
});

describe('credentials', () => {
  it('are fetched once for calls at the same time, kept, and fetched again before they end', async () => {
    const clock = { now: 0 };
    let fetched = 0;
    const credentials = tokenCredentials({
      now: () => clock.now,
      fetch: async () => ({ token: `t${++fetched}`, expiresInMilliseconds: 600_000 }),
    });
    const { client, asked } = await open(answering(200), { credentials });
    await Promise.all([client.send(get, calm()), client.send(get, calm())]);
    clock.now = 539_999;
    await client.send(get, calm());
    clock.now = 540_000;
    await client.send(get, calm());
    expect(asked.map((one) => one.headers.authorization)).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2']);
  });

  it('are renewed once when the provider no longer accepts them', async () => {
    let fetched = 0;
    const credentials = tokenCredentials({ now: () => 0, fetch: async () => ({ token: `t${++fetched}` }) });
    let good = 't2';
    const { client, asked } = await open(
      (request, response) =>
        answering(request.headers.authorization === `Bearer ${good}` ? 200 : 401)(request, response),
      { credentials },
    );
    await client.send(get, calm());
    expect(asked).toHaveLength(2);
    good = 'none';
    await expect(client.send(get, calm())).rejects.toBeInstanceOf(Terminal);
    expect(asked).toHaveLength(4);
  });

  it('are not sent again when there are no others', async () => {
    const { client, asked } = await open(answering(401), { credentials: fixedCredentials('Bearer one') });
    await expect(client.send(get, calm())).rejects.toThrow("does not accept the connector's credentials");
    expect(asked).toHaveLength(1);
  });

  it('are read anew for each call from where another person renews them', async () => {
    let current = 'one';
    const credentials = readCredentials(async () => `Bearer ${current}`);
    const { client, asked } = await open(answering(200), { credentials });
    await client.send(get, calm());
    current = 'two';
    await client.send(get, calm());
    expect(asked.map((one) => one.headers.authorization)).toEqual(['Bearer one', 'Bearer two']);
  });

  it('that cannot be fetched fail the call and are tried again by the next one', async () => {
    let tried = 0;
    const credentials = tokenCredentials({
      now: () => 0,
      fetch: async () => {
        tried += 1;
        if (tried === 1) throw new Retryable('no token now');
        return { token: 'x' };
      },
    });
    const { client } = await open(answering(200), { credentials });
    await expect(client.send(get, calm())).rejects.toThrow('no token now');
    await client.send(get, calm());
  });

  it('stay with the others when one of those who wait gives up', async () => {
    let give = (_: { token: string }) => {};
    const credentials = tokenCredentials({
      now: () => 0,
      fetch: () =>
        new Promise((resolve) => {
          give = resolve;
        }),
    });
    const { client } = await open(answering(200), { credentials });
    const stop = new AbortController();
    const [impatient, patient] = [client.send(get, stop.signal), client.send(get, calm())];
    stop.abort();
    await expect(impatient).rejects.toBeInstanceOf(Retryable);
    give({ token: 'x' });
    expect((await patient).status).toBe(200);
  });

  it('never leave for another origin', async () => {
    const { asked, url } = await open(answering(200));
    const { client } = await open(answering(200), { credentials: fixedCredentials('Bearer one') });
    await expect(client.send({ method: 'GET', path: `${url}/next` }, calm())).rejects.toBeInstanceOf(Terminal);
    expect(asked).toHaveLength(0);
  });
});

describe('TLS', () => {
  const server = makeCertificate(['localhost']);

  it('trusts the CA that the configuration names, and no stranger', async () => {
    const { client, url } = await open(answering(200), { ca: server.cert }, server);
    expect((await client.send(get, calm())).status).toBe(200);
    const stranger = await openHttpClient({ service: 'The directory', url, now: () => 0 });
    opened.push(() => stranger.close());
    const fault = await faultOf(stranger.send(get, calm()));
    expect(fault).toBeInstanceOf(Retryable);
    expect(fault.message).toBe('No secure connection to The directory could be made');
  });

  it('shows its certificate to the provider', async () => {
    const ours = makeCertificate(['belay']);
    const seen: boolean[] = [];
    const { client } = await open(
      (request, response) => {
        seen.push((request.socket as import('node:tls').TLSSocket).authorized);
        response.end('{}');
      },
      { ca: server.cert, clientCertificate: { certificate: ours.cert, key: ours.key } },
      { ...server, requestCert: true, rejectUnauthorized: true, ca: ours.cert } as typeof server,
    );
    await client.send(get, calm());
    expect(seen).toEqual([true]);
  });
});

describe('pages', () => {
  const all = async (pages: AsyncIterable<{ body: unknown }>) => {
    const bodies: unknown[] = [];
    for await (const { body } of pages) bodies.push(body);
    return bodies;
  };

  it('are followed by the Link header', async () => {
    const { client } = await open((request, response) => {
      const page = Number(new URL(request.url ?? '', 'http://x').searchParams.get('page') ?? 1);
      const { host } = request.headers;
      const link = `<http://${host}/things?page=1>; rel="first", <http://${host}/things?page=${page + 1}&a=b,c>; rel="next"`;
      answering(200, [page], page < 3 ? { link } : {})(request, response);
    });
    expect(await all(readPages(client, { ...get, query: { limit: 1 } }, nextByLink, calm()))).toEqual([[1], [2], [3]]);
  });

  it('are followed by a cursor in the body', async () => {
    const { client, asked } = await open((request, response) => {
      const at = new URL(request.url ?? '', 'http://x').searchParams.get('continue');
      answering(200, { next: at === null ? 'b/=' : '' })(request, response);
    });
    const next = nextByCursor('continue', (body) => (body as { next: string }).next);
    expect(await all(readPages(client, get, next, calm()))).toHaveLength(2);
    expect(asked[1]?.url).toBe('/things?continue=b%2F%3D');
  });

  it('that go round in a circle are an error', async () => {
    const { client } = await open(answering(200, { next: 'same' }));
    const next = nextByCursor('continue', (body) => (body as { next: string }).next);
    await expect(all(readPages(client, get, next, calm()))).rejects.toBeInstanceOf(Retryable);
  });
});
