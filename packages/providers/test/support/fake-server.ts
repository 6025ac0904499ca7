import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';

/** How the server behaves; `silent` accepts the request and never responds. */
export type Mood = 'well' | 'unavailable' | 'forbidden' | 'silent' | 'babbling';

export interface Asked {
  method: string;
  /** The path with its query. */
  path: string;
  host: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export interface FakeServer extends AsyncDisposable {
  port: number;
  url: string;
  mood: Mood;
  /** The requests to the service itself; its identity provider is not counted. */
  asked: Asked[];
}

export interface Vendor {
  tls?: { key: string; cert: string };
  /** Serves the requests that get credentials, in every mood. */
  identity?(asked: Asked): Answer | undefined;
  answer(asked: Asked): Answer;
  /** The response with which this vendor rejects a request, in its own form. */
  forbidden: Answer;
}

/** Starts an HTTP server that behaves as the vendor does, on a port of its own. */
export async function startFakeServer(vendor: Vendor): Promise<FakeServer> {
  const server = vendor.tls ? createHttps(vendor.tls, listener) : createHttp(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeServer = {
    port,
    url: `http://127.0.0.1:${port}`,
    mood: 'well',
    asked: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;

  function listener(request: IncomingMessage, response: ServerResponse): void {
    void readBody(request).then((body) => {
      const { method = '', url = '', headers } = request;
      const asked = { method, path: url, host: headers.host ?? '', headers, body };
      const known = vendor.identity?.(asked);
      if (known) return send(response, known);
      fake.asked.push(asked);
      if (fake.mood === 'silent') return;
      if (fake.mood === 'unavailable') return send(response, { status: 503, body: { message: 'later' } });
      if (fake.mood === 'babbling') return send(response, { status: 200, body: '<html>Welcome to our proxy</html>' });
      send(response, fake.mood === 'forbidden' ? vendor.forbidden : vendor.answer(asked));
    });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}
