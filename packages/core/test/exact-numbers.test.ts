import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getExecution, receiveEvent } from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, openCast } from './support/stories.js';

const given = '{"id":9007199254740993,"f":1e400}';
const token = 'a token for tests that is long enough';

describe('a number that a double cannot hold', () => {
  let server: Server;
  let body = given;
  let cast: Cast;
  beforeEach(async () => {
    server = createServer((_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(body),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const get = { call: 'http', with: { method: 'get', endpoint } };
    const keep = { set: { got: '${ . }' } };
    const raw = { call: 'http', with: { method: 'get', endpoint, output: 'raw' } };
    const heard = { listen: { to: { one: { with: { type: 'ready' } } } }, metadata: { from: { sources: ['ci'] } } };
    const catalog = catalogWith({
      reading: [{ get }, { keep }],
      raw: [{ raw }],
      hearing: [{ heard }, { grant: { call: 'access.grant' } }],
      computing: [{ keep: { set: { got: '${ [9007199254740993] | .[0] }' } } }],
    });
    cast = await openCast({
      catalog: {
        ...catalog,
        server: { http_hosts: [{ host: '127.0.0.1', allow_private: true }] },
        events: { sources: { ci: { token: '${env:CI}' } } },
      },
      resolve: () => token,
    });
  });
  afterEach(async () => {
    await cast[Symbol.asyncDispose]();
    await new Promise((closed) => server.close(closed));
  });

  const run = async (workflow: string) => getExecution(cast.ada, { id: await ask(cast.house, cast.ada, { workflow }) });

  it('in the response to a call is a fault that names it, and no other number goes on', async () => {
    const { status, error, output } = await run('reading');
    expect([status, output]).toEqual(['faulted', null]);
    expect(JSON.stringify(error)).toContain('9007199254740993');
  });

  it('in a response that is not read stays as it was sent', async () => {
    expect(await run('raw')).toMatchObject({ status: 'completed', output: Buffer.from(given).toString('base64') });
  });

  it('is no fault where every number can be held', async () => {
    body = '{"id":9007199254740992,"text":"9007199254740993","f":0.1}';
    expect(await run('reading')).toMatchObject({ status: 'completed', output: { got: JSON.parse(body) } });
    body = given;
  });

  it('in the result of an expression is a fault', async () => {
    expect((await run('computing')).status).toBe('faulted');
  });

  it('in an event is rejected', async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'hearing' });
    const event = (data: string) => `{"specversion":"1.0","id":"e1","type":"ready","subject":"${id}","data":${data}}`;
    const send = (data: string) => receiveEvent(cast.house.ctx, { source: 'ci', token, body: event(data) });
    await expect(send(given)).rejects.toMatchObject({ code: 'invalid' });
    await expect(send('{"id":9007199254740992}')).resolves.toEqual({ status: 'accepted' });
  });
});
