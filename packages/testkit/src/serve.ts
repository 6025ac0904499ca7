import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Context } from '@belay/core';
import {
  type App,
  type AppOptions,
  createApp,
  defaultLimits,
  type Limits,
  type Meters,
} from '@belay/server/composition';
import type { AnyTRPCRouter } from '@trpc/server';

export interface LogLine {
  level: string;
  detail: Record<string, unknown>;
  message: string;
}

/** Returns a logger that keeps its lines, so that a test can read what an operator would. */
export function keepLines(): { lines: LogLine[]; log: AppOptions['log'] } {
  const lines: LogLine[] = [];
  const at = (level: string) => (detail: object, message: string) => {
    lines.push({ level, detail: { ...detail }, message });
  };
  return { lines, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } };
}

export interface Served extends AsyncDisposable {
  url: string;
  lines: LogLine[];
  drain: App['drain'];
  endWaits: App['endWaits'];
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends a request with exactly these headers: fetch would reject some (Sec-Fetch-Site, Origin) and add others. */
export function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer; path?: string } = {},
): Promise<Answer> {
  const target = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        host: target.hostname,
        port: target.port,
        path: options.path ?? `${target.pathname}${target.search}`,
        method: options.method ?? 'GET',
        headers: options.headers ?? {},
        agent: false,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}

export interface AttachOptions {
  context: Context;
  router: AnyTRPCRouter;
  url: string;
  baseUrl: string;
  log: AppOptions['log'];
  lines: LogLine[];
  limits?: Partial<Limits> | undefined;
  sendCommand?: AppOptions['sendCommand'];
  trustProxy?: AppOptions['trustProxy'];
  meters?: Meters;
  /** Returns how long the oldest statement has waited for the database, in milliseconds; always 0 when absent. */
  databaseWait?: AppOptions['counters']['databaseWait'] | undefined;
}

/** Attaches the real app to a server that is already listening. */
export function attach(server: Server, options: AttachOptions): Served {
  const {
    context,
    router,
    url,
    baseUrl,
    log,
    lines,
    limits,
    sendCommand,
    trustProxy,
    meters,
    databaseWait = () => 0,
  } = options;
  const { answer, drain, endWaits } = createApp({
    context: { ...context, log },
    meters,
    router,
    basePath: '/api/v1',
    baseUrl,
    log,
    limits: { ...defaultLimits, ...limits },
    sendCommand,
    ...(trustProxy === undefined ? {} : { trustProxy }),
    counters: { uptimeMilliseconds: () => 1234, scheduler: async () => 'healthy', databaseWait },
  });
  server.on('request', answer);
  return {
    url,
    lines,
    drain,
    endWaits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts the real app with any router, on a port of its own. */
export async function serve(options: {
  context: Context;
  router: AnyTRPCRouter;
  limits?: Partial<Limits>;
  sendCommand?: AppOptions['sendCommand'];
  trustProxy?: AppOptions['trustProxy'];
  databaseWait?: AttachOptions['databaseWait'];
}): Promise<Served> {
  const { lines, log } = keepLines();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return attach(server, { ...options, url, baseUrl: url, log, lines });
}
