import { createServer } from 'node:net';

/**
 * The range lies below the ports that Linux, macOS and Windows assign to outgoing connections and to servers that name no port: such
 * a port could be taken between the choice and its use.
 */
const first = 20_000;
const many = 12_000;
const tries = 100;

/**
 * Returns a port on which no program listens at this moment. `pick` returns any number, by default the system's own
 * choice of a port, so that processes that choose at the same time get different ports. Throws when each of 100 picked
 * ports is taken.
 */
export async function findFreePort(
  host: string,
  pick: (host: string) => Promise<number> = listenOnAny,
): Promise<number> {
  for (let count = 0; count < tries; count += 1) {
    const port = first + ((await pick(host)) % many);
    if (await isPortFree(port, host)) return port;
  }
  throw new Error(`None of ${tries} ports from ${first} to ${first + many - 1} is free on ${host}`);
}

/** Returns whether a program can listen on a port at this moment. */
export function isPortFree(port: number, host: string): Promise<boolean> {
  return listen(port, host).then(
    () => true,
    () => false,
  );
}

function listenOnAny(host: string): Promise<number> {
  return listen(0, host);
}

/** Listens on a port for a moment, and returns it. */
function listen(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}
