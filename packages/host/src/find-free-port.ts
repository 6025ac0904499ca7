import { createServer } from 'node:net';

/** Returns a port that nothing listens on at this moment. */
export async function findFreePort(host: string): Promise<number> {
  const port = await tryPort(0, host);
  if (port === undefined) throw new Error(`The system has no free port on ${host}`);
  return port;
}

/** Listens on a port for a moment, on any free one for 0, and returns it; undefined when it cannot be had. */
export function tryPort(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}
