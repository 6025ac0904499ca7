import { createServer } from 'node:net';

/** A port of 127.0.0.1 that nothing listens on, chosen by the system. */
export async function chooseFreePort(): Promise<number> {
  const port = await listen(0);
  if (port === undefined) {
    throw new Error('the system has no free port on 127.0.0.1');
  }
  return port;
}

/** Whether a port of 127.0.0.1 can be listened on at this moment. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listen(port)) !== undefined;
}

function listen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}
