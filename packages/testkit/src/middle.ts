import { createServer, request as httpRequest, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TRPCError } from '@trpc/server';
import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';

/** What stands between an agent and its server: it passes everything on, and answers what it is told to. */
export interface Middle extends AsyncDisposable {
  url: string;
  /** Procedures that were called, in their order. */
  calls: string[];
  /** The same calls with what they carried. */
  requests: { procedure: string; method: string; input: unknown; headers: IncomingHttpHeaders }[];
  /** Changes an answer's data; undefined leaves it as it is. */
  mangle: ((procedure: string, data: Record<string, unknown>) => unknown) | undefined;
  /** Which error the server has instead of an answer; the call does not reach it. */
  refuse: ((procedure: string) => { code: TRPC_ERROR_CODE_KEY; message: string } | undefined) | undefined;
  /** A procedure whose answer never arrives, though the server has acted. */
  lose: string | undefined;
  /** `away` ends every connection, `silent` never answers. */
  state: 'there' | 'away' | 'silent';
  /** Ends what is connected. */
  hangUp(): void;
}

/** Returns what a procedure was called with; undefined for what is no JSON. */
function readInput(sent: Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(sent).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Answers with an error as the server does. */
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
