import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serverRouter } from '@belay/api';
import type { Context } from '@belay/core';
import { createApp, defaultLimits } from '@belay/server/composition';

export interface Served {
  url: string;
  close(): void;
}

/** Serves the HTTP application of a server on a free port, with a limit for requests that is never reached. */
export function serveApp(context: Context): Promise<Served> {
  const { answer } = createApp({
    context,
    router: serverRouter,
    basePath: '/api/v1',
    baseUrl: 'http://127.0.0.1',
    log: { ...context.log },
    limits: { ...defaultLimits, requests: Number.MAX_SAFE_INTEGER },
    counters: { uptimeMilliseconds: () => performance.now(), scheduler: async () => 'healthy', databaseWait: () => 0 },
  });
  return serve(answer);
}

/** Listens on a free port of the loopback interface. */
export async function serve(listener: RequestListener): Promise<Served> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
