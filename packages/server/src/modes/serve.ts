import type { Server } from 'node:http';
import { serverRouter } from '@belay/api';
import { type Context, noteReachable } from '@belay/core';
import type { Environment } from '@belay/operations';
import { behindProxy, type Closing, listen, stopListening } from '@belay/program';
import { type QueueBackend, startWorker } from '@belay/worker';
import { type App, createApp } from '../http/app.js';
import { defaultLimits } from '../http/limits.js';
import type { Meters } from '../meters.js';
import type { Demo, DemoComposer } from './demo.js';

/** How long work in progress may take to finish when the program stops, in milliseconds; another worker continues the rest. */
const workerGrace = 4_000;

export interface ServeOptions {
  context: Context;
  backend: QueueBackend;
  environment: Environment;
  databaseUrl: string;
  /** Returns for how long the oldest statement without a response has waited, in milliseconds. */
  databaseWait(): number;
  /** Where to listen; undefined in a worker process. */
  address: { public: string; port: number } | undefined;
  meters: Meters;
  /** The demo that runs here, with the functions of its composer that are needed here. */
  demo: (Demo & Pick<DemoComposer, 'admits' | 'startWorker'>) | undefined;
  closing: Closing;
}

/** Starts HTTP and then the worker, with the composed context. Throws `StartError` when the port is not available. */
export async function serve(options: ServeOptions): Promise<void> {
  const { context, backend, environment, address, meters, demo, closing } = options;
  let http: ({ server: Server } & Omit<App, 'answer'>) | undefined;
  let worker: { stop(): Promise<unknown> } | undefined;
  // Together: the worker takes no more work from now on, and the HTTP server still serves requests for `drainSeconds`.
  closing.add('the HTTP server and the worker', async () => {
    http?.drain();
    await Promise.all([http && stopServing(http), worker?.stop()]);
  });
  // Load balancers need a moment to see that /ready returns 503, and send requests until then.
  const stopServing = async ({ server, endWaits }: { server: Server } & Pick<App, 'endWaits'>) => {
    await context.delay(environment.drainSeconds * 1_000);
    // Not before the delay: until then a client that calls again may reach this server.
    endWaits();
    await stopListening(server, context.delay);
  };
  if (address !== undefined) {
    const { answer, ...app } = createApp({
      context,
      router: serverRouter,
      basePath: '/api/v1',
      baseUrl: address.public,
      log: context.log,
      limits: defaultLimits,
      sendCommand: backend.send,
      meters,
      ...(environment.trustProxy === undefined ? {} : { trustProxy: environment.trustProxy }),
      ...(demo ? { admits: demo.admits } : {}),
      counters: {
        uptimeMilliseconds: () => Math.ceil(performance.now()),
        scheduler: () => backend.check(),
        databaseWait: options.databaseWait,
        droppedJobs: () => backend.deadLetters.dropped(),
      },
    });
    const kept = environment.trustProxy === undefined ? {} : behindProxy;
    http = { server: await listen(answer, address.port, environment.host, kept), ...app };
    await demo?.publish();
    noteUntilStopped(context, closing);
  }
  if (environment.worker === 'off') return;
  const start = async () => {
    const started = await startWorker({ context, backend });
    return { stop: () => started.stop({ graceMilliseconds: workerGrace }) };
  };
  const { databaseUrl } = options;
  const { log, delay } = context;
  worker = demo ? await demo.startWorker({ databaseUrl, log, delay, start }) : await start();
}

/** Records every few seconds that this server can be reached. Only recorded time counts for the leases of runs. */
export function noteUntilStopped(context: Context, closing: Pick<Closing, 'add'>): void {
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      // Nothing is recorded while the database is unavailable, and so this time does not count.
      await noteReachable(context).catch(() => {});
      await context.delay(context.timing.run.note, stopping.signal).catch(() => {});
    }
  };
  const running = loop();
  closing.add('the record of when the server can be reached', async () => {
    stopping.abort();
    await running;
  });
}
