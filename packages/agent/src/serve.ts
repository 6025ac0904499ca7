import { rm } from 'node:fs/promises';
import { findFreePort, findPeer } from '@belay/host';
import type { Closing } from '@belay/program';
import { delay, elapsed, listen, newId, stopListening } from '@belay/program';
import type { AnyTRPCRouter } from '@trpc/server';
import { createLocalApp } from './app.js';
import type { LocalEnvironment } from './environment.js';
import { createGuard } from './guard.js';
import type { Machine } from './open-machine.js';
import { addressPath } from './status.js';
import type { LocalContext } from './verbs/ports.js';

/** Returns the port to listen on, and the address with that port. */
export async function chooseAddress({ host, port }: LocalEnvironment): Promise<{ port: number; baseUrl: string }> {
  const chosen = port === 0 ? await findFreePort(host) : port;
  return { port: chosen, baseUrl: `http://${host.includes(':') ? `[${host}]` : host}:${chosen}` };
}

/** Serves a mode's router on this machine's own address. Throws `StartError` when the port is not available. */
export async function serveLocal(options: {
  context: LocalContext;
  router: AnyTRPCRouter;
  machine: Machine;
  host: string;
  port: number;
  closing: Closing;
}): Promise<void> {
  const { context, router, machine, host, port, closing } = options;
  const app = createLocalApp({
    context,
    router,
    guard: createGuard({ port: () => port, uid: process.getuid?.(), peer: findPeer }),
    uptimeMilliseconds: () => Math.ceil(elapsed()),
    newId,
  });
  const server = await listen(app, port, host);
  closing.add('the HTTP server', () => stopListening(server, delay));
  const path = addressPath(machine.folder);
  await machine.files.replace(path, `${context.program.baseUrl}\n`);
  closing.add('the address', () => rm(path, { force: true }));
}
