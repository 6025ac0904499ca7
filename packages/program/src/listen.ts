import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { elapsed } from './machine.js';
import { StartError } from './start-error.js';

/** How long requests that are in progress get to finish when the program stops, in milliseconds. */
const grace = 4_000;

/**
 * How long a request may take to arrive, head and body, from its connection or its first byte on: then it is rejected
 * with 408 and the connection ends. Without it each half-sent request holds a connection for five minutes.
 */
export const arriving: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  // How often Node.js looks; every half a minute by default.
  connectionsCheckingInterval: 500,
};

/** Listens for HTTP. Throws `StartError` naming the variable when the port or the address cannot be had. */
export async function listen(app: RequestListener, port: number, host: string): Promise<Server> {
  const server = createServer(arriving, app);
  try {
    await new Promise<void>((listening, failed) => {
      server.once('error', failed);
      server.listen(port, host, listening);
    });
  } catch (cause) {
    throw new StartError(explainListen((cause as NodeJS.ErrnoException).code, port, host), { cause });
  }
  return server;
}

function explainListen(code: string | undefined, port: number, host: string): string {
  if (code === 'EADDRINUSE')
    return `PORT: ${port} on ${host} is in use; stop the program that uses it, or set PORT to another`;
  if (code === 'EACCES') return `PORT: ${port} is not allowed for this user; set PORT to one above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST: ${host} is not an address of this machine; set HOST to one, e.g. 127.0.0.1`;
  return `PORT: cannot listen on ${host}:${port} (${code ?? 'unknown'}); set PORT or HOST to others`;
}

/** How many turns of the event loop a server that stops goes on taking connections, when they never end: twice its queue. */
const mostTurns = 1_024;

/**
 * Returns once no connection waits that the system has opened for this server: closing the port resets those, with requests
 * that a proxy has sent and does not repeat. Node.js takes one connection in a turn of its event loop, so a turn that took
 * none and ran nothing else for long found the queue empty a moment ago.
 */
async function takeWaiting(server: Server): Promise<void> {
  let taken = 0;
  const count = () => (taken += 1);
  server.on('connection', count);
  for (let turn = 0; turn < mostTurns; turn++) {
    const [before, began] = [taken, elapsed()];
    await setImmediate();
    if (turn > 0 && taken === before && elapsed() - began < 1) break;
  }
  server.off('connection', count);
}

/** Takes no new connection once none waits, lets requests that are in progress finish for a while, and ends the rest. */
export async function stopListening(
  server: Server,
  delay: (milliseconds: number, signal?: AbortSignal) => Promise<void>,
): Promise<void> {
  await takeWaiting(server);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const over = new AbortController();
  const late = delay(grace, over.signal).then(
    () => server.closeAllConnections(),
    () => {},
  );
  await closed;
  over.abort();
  await late;
}
