import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { Server as PortServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { elapsed } from './machine.js';
import { StartError } from './start-error.js';

/** How long requests that are in progress get to finish when the program stops, in milliseconds. */
const grace = 4_000;

/** How long connections without a request are kept when the program stops, in milliseconds. */
const lingering = 250;

/**
 * How long a request may take to arrive, head and body, from its connection or its first byte on. A slower request is
 * rejected with 408 and its connection ends. Without these limits, a half-sent request holds a connection for up to
 * five minutes.
 */
export const arriving: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  // How often Node.js checks these limits; every 30 seconds by default.
  connectionsCheckingInterval: 500,
};

/**
 * How long connections without a request are kept behind a proxy: longer than proxies keep them by default, because a
 * proxy that sends a request just when the connection ends here gets no response. Cloud load balancers keep them for at
 * most ten minutes by default.
 */
export const behindProxy: ServerOptions = { keepAliveTimeout: 650_000 };

/** The state of a server that listens: the responses that are not completely sent, and whether it is stopping. */
interface Serving {
  responses: Set<ServerResponse>;
  stopping: boolean;
  /** Called when the last response in progress has ended. */
  rested(): void;
}
const serving = new WeakMap<Server, Serving>();

/** Listens for HTTP. Throws `StartError` naming the variable when the port or the address is not available. */
export async function listen(
  app: RequestListener,
  port: number,
  host: string,
  options: ServerOptions = {},
): Promise<Server> {
  const state: Serving = { responses: new Set(), stopping: false, rested() {} };
  const { responses } = state;
  const server = createServer({ ...arriving, ...options }, (request, response) => {
    responses.add(response);
    response.once('close', () => {
      responses.delete(response);
      if (responses.size === 0) state.rested();
    });
    if (state.stopping) response.setHeader('Connection', 'close');
    app(request, response);
  });
  serving.set(server, state);
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
    return `HOST: ${host} is not an address of this machine; set HOST to one, for example 127.0.0.1`;
  return `PORT: cannot listen on ${host}:${port} (${code ?? 'unknown'}); set PORT or HOST to others`;
}

/** For how many turns of the event loop a stopping server accepts connections at most: twice the length of its queue. */
const mostTurns = 1_024;
/**
 * For how many milliseconds a stopping server accepts connections at most, because turns of a busy server are long. The
 * grace comes after that.
 */
const longestTaking = 1_000;
/** The longest turn, in milliseconds, that counts as empty: many times the duration of a turn in which nothing else runs. */
const shortTurn = 0.05;

/**
 * Waits until the system's queue has no connections for this server: closing the port would reset them, with requests that a proxy
 * has sent and does not repeat. The event loop accepts the waiting connections before it continues here, so after a short turn
 * without a connection the queue was just empty. In a longer turn, a client may have received a response and connected again.
 */
async function takeWaiting(server: Server): Promise<void> {
  let taken = 0;
  const count = () => (taken += 1);
  server.on('connection', count);
  const end = elapsed() + longestTaking;
  for (let turn = 0; turn < mostTurns && elapsed() < end; turn++) {
    const [before, began] = [taken, elapsed()];
    await setImmediate();
    if (turn > 0 && taken === before && elapsed() - began < shortTurn) break;
  }
  server.off('connection', count);
}

/**
 * Stops accepting connections when none is waiting, and gives requests that are in progress some time to finish.
 * Connections without a request are kept for a moment, because a request may be on its way; such a connection ends with
 * its response.
 */
export async function stopListening(
  server: Server,
  delay: (milliseconds: number, signal?: AbortSignal) => Promise<void>,
): Promise<void> {
  const state = serving.get(server) ?? { responses: new Set(), stopping: false, rested() {} };
  await takeWaiting(server);
  // `close` of node:http would first end idle connections, while new ones still arrive at the port.
  const closed = new Promise<void>((resolve) => void PortServer.prototype.close.call(server, () => resolve()));
  state.stopping = true;
  for (const response of state.responses) if (!response.headersSent) response.setHeader('Connection', 'close');
  const over = new AbortController();
  const after = (milliseconds: number, work: () => void) => delay(milliseconds, over.signal).then(work, () => {});
  const closeIdle = () => {
    // Node.js also treats connections as idle whose response is not completely sent.
    if (state.responses.size === 0) server.closeIdleConnections();
  };
  const timers = [
    after(lingering, () => {
      state.rested = closeIdle;
      closeIdle();
    }),
    after(grace, () => server.closeAllConnections()),
  ];
  await closed;
  over.abort();
  await Promise.all(timers);
  // Stops the timer with which node:http checks connections.
  server.close(() => {});
}
