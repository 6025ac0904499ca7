import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What stands between an agent and its server: it passes everything on, and answers what it is told to. */
export interface Middle extends AsyncDisposable {
  url: string;
  /** Procedures that were called, in their order. */
  calls: string[];
  /** Changes an answer's data; undefined leaves it as it is. */
  mangle: ((procedure: string, data: Record<string, unknown>) => unknown) | undefined;
  /** A procedure whose answer never arrives, though the server has acted. */
  lose: string | undefined;
  /** `away` ends every connection, `silent` never answers. */
  state: 'there' | 'away' | 'silent';
  /** Ends what is connected. */
  hangUp(): void;
}

export async function standBetween(target: string): Promise<Middle> {
  const { hostname, port } = new URL(target);
  const middle: Middle = {
    url: '',
    calls: [],
    mangle: undefined,
    lose: undefined,
    state: 'there',
    hangUp: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((incoming, outgoing) => {
    if (middle.state === 'away') return void incoming.socket.destroy();
    if (middle.state === 'silent') return;
    const procedure = /^\/trpc\/([\w.]+)/.exec(incoming.url ?? '')?.[1] ?? '';
    middle.calls.push(procedure);
    const passed = httpRequest(
      {
        hostname,
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...incoming.headers, host: `${hostname}:${port}` },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', async () => {
          if (middle.lose === procedure) return void outgoing.destroy();
          let body = Buffer.concat(chunks).toString('utf8');
          const parsed = body.startsWith('{')
            ? (JSON.parse(body) as { result?: { data: Record<string, unknown> } })
            : {};
          if (middle.mangle && parsed.result) {
            body = JSON.stringify({
              result: { data: (await middle.mangle(procedure, parsed.result.data)) ?? parsed.result.data },
            });
          }
          const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = answer.headers;
          outgoing.writeHead(answer.statusCode ?? 502, { ...headers, 'content-length': Buffer.byteLength(body) });
          outgoing.end(body);
        });
      },
    );
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  middle.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return middle;
}

/** Returns a foreign server that answers every request with one page. */
export async function serveText(text: string): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
