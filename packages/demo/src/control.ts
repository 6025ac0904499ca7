import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@belay/program';
import { arriving } from '@belay/program';
import { isFromHere } from './only-here.js';
import { stopEveryWorker } from './switchable-worker.js';

/*
 * Demo only: through this listener, `npm run demo` stops and starts every worker, to show what happens to access that expires while they
 * are stopped. It listens on the loopback interface, requires a secret from a file that only the operator can read, and does not exist when
 * the server starts with a configuration.
 */

export interface DemoControlOptions {
  port: number;
  secret: string;
  databaseUrl: string;
  log: Logger;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

const longestStop = 30_000;
const largestBody = 1_000;

/** Listens for `POST /workers {"running": false|true}` with the secret as bearer. Rejects when the port is taken. */
export async function startDemoControl(options: DemoControlOptions): Promise<{ url: string; close(): Promise<void> }> {
  let stopped: { release(): Promise<void> } | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  async function setRunning(running: boolean): Promise<void> {
    if (running) {
      await stopped?.release();
      stopped = undefined;
    } else {
      stopped ??= await stopEveryWorker({ ...options, signal: AbortSignal.timeout(longestStop) });
    }
  }

  async function answer(request: IncomingMessage): Promise<[number, object]> {
    // Requests through a proxy, or under a name that a foreign DNS server points here (DNS rebinding), do not count as from this machine.
    if (!isFromHere(request)) return [421, { message: 'The demo accepts requests from this machine only' }];
    if (!isAuthorised(request.headers.authorization, options.secret))
      return [401, { message: 'The bearer token is not valid' }];
    if (request.url !== '/workers') return [404, { message: 'Not found; the only path is /workers' }];
    if (request.method !== 'POST') return [405, { message: 'Use POST' }];
    const running = readRunning(await readBody(request));
    if (running === undefined) return [400, { message: 'The body must be {"running": true} or {"running": false}' }];
    // One request at a time: a second request must see the effect of the first.
    const mine = turn.then(() => setRunning(running));
    turn = mine.catch(() => {});
    await mine;
    return [200, { running }];
  }

  const server = createServer(arriving, (request, response) => {
    void answer(request)
      .catch((error: unknown): [number, object] => {
        options.log.error({ error }, 'the workers of the demo could not be started or stopped');
        return [503, { message: 'The workers could not be started or stopped' }];
      })
      .then(([status, body]) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(options.port, '127.0.0.1', listening);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((closed) => server.close(() => closed()));
      await turn;
      await stopped?.release();
    },
  };
}

function isAuthorised(header: string | undefined, secret: string): boolean {
  const given = Buffer.from(header ?? '');
  const wanted = Buffer.from(`Bearer ${secret}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) {
    text += String(part);
    if (text.length > largestBody) break;
  }
  return text;
}

function readRunning(text: string): boolean | undefined {
  try {
    const { running } = JSON.parse(text) as { running?: unknown };
    return typeof running === 'boolean' ? running : undefined;
  } catch {
    return undefined;
  }
}
