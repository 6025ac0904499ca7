import { createServer, request as httpRequest, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TRPCError } from '@trpc/server';
import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';

/** A proxy between an agent and its server: it forwards every call, unless a test changes this. */
export interface Middle extends AsyncDisposable {
  url: string;
  /** Procedures that were called, in their order. */
  calls: string[];
  /** The same calls with their methods, inputs and headers. */
  requests: { procedure: string; method: string; input: unknown; headers: IncomingHttpHeaders }[];
  /** Returns other data for a response; undefined leaves the data as they are. */
  mangle: ((procedure: string, data: Record<string, unknown>) => unknown) | undefined;
  /** Returns the error that is sent as the response; the call does not reach the server then. */
  refuse: ((procedure: string) => { code: TRPC_ERROR_CODE_KEY; message: string } | undefined) | undefined;
  /** A procedure whose response never arrives, though the server has acted. */
  lose: string | undefined;
  /** `away` ends every connection, `silent` never responds. */
  state: 'there' | 'away' | 'silent';
  /** Ends all connections. */
  hangUp(): void;
}

/** Returns the input of a procedure; undefined when it is not JSON. */
function readInput(sent: Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(sent).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Sends an error as the server does. */
function answerWith(
  outgoing: ServerResponse,
  path: string,
  error: { code: TRPC_ERROR_CODE_KEY; message: string },
): void {
  const httpStatus = getHTTPStatusCodeFromError(new TRPCError(error));
  const code = TRPC_ERROR_CODES_BY_KEY[error.code];
  outgoing.writeHead(httpStatus, { 'content-type': 'application/json' });
  outgoing.end(
    JSON.stringify({ error: { message: error.message, code, data: { code: error.code, httpStatus, path } } }),
  );
}

export async function standBetween(target: string): Promise<Middle> {
  const { hostname, port } = new URL(target);
  const middle: Middle = {
    url: '',
    calls: [],
    requests: [],
    mangle: undefined,
    refuse: undefined,
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
    const sent: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => sent.push(chunk));
    incoming.on('end', () => {
      const { method = '', headers } = incoming;
      middle.requests.push({ procedure, method, input: readInput(sent), headers });
    });
    const refusal = middle.refuse?.(procedure);
    if (refusal) return void answerWith(outgoing, procedure, refusal);
    const passed = httpRequest(
      {
        hostname,
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...incoming.headers, host: `${hostname}:${port}` },
      },
      (answer) => {
        if (answer.headers['content-type']?.startsWith('text/event-stream') && middle.lose !== procedure) {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          outgoing.on('close', () => answer.destroy());
          return void answer.on('error', () => outgoing.destroy()).pipe(outgoing);
        }
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

/** Starts a server that is not Belay, which returns the same page for every request. */
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
