import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { standardFault } from '../../src/index.js';
import type { Json, JsonObject, Outcome } from '../../src/types.js';

/** Starts a server that acts as the hosts of the conformance kit, under `/<host>/…`. */
export async function startHosts(): Promise<{ url: string; close(): Promise<void> }> {
  const pet = (id: number) => ({ id, name: 'milou', status: 'available' });
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    const answer = (status: number, body: Json) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const [, id] = /^\/petstore\.swagger\.io\/v2\/pet\/(\d+)$/.exec(path) ?? [];
    const [, user, password] = /^\/httpbin\.org\/basic-auth\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    if (path === '/petstore.swagger.io/v2/pet/findByStatus?status=available') answer(200, [pet(1), pet(2)]);
    else if (id) answer(200, pet(Number(id)));
    else if (user && password) {
      const given = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
      answer(given === `${user}:${password}` ? 200 : 401, { user });
    } else answer(404, { message: 'not found' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Performs the request of a `call: http` step at the server of `startHosts`, as the DSL defines an HTTP call. */
export async function performHttp(base: string, request: Json): Promise<Outcome> {
  const { with: call } = request as unknown as {
    with: {
      method: string;
      uri: string;
      output?: string;
      authentication?: { basic?: { username: string; password: string } };
    };
  };
  const headers: { [name: string]: string } = {};
  const { basic } = call.authentication ?? {};
  if (basic) headers.authorization = `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
  const response = await fetch(call.uri.replace('https://', `${base}/`), {
    method: call.method.toUpperCase(),
    headers,
  });
  const content = (await response.json()) as Json;
  if (!response.ok) {
    return { ok: false, fault: standardFault('communication', { status: response.status, title: 'Not found' }) };
  }
  if (call.output !== 'response') return { ok: true, value: content };
  const value: JsonObject = {
    request: { method: call.method, uri: call.uri, headers: {} },
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    content,
  };
  return { ok: true, value };
}
