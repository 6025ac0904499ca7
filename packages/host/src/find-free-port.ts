import { createServer } from 'node:net';

/** A port that nothing listens on at this moment. */
export async function findFreePort(host: string): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening, failed) => {
    probe.once('error', failed);
    probe.listen(0, host, listening);
  });
  const address = probe.address();
  await new Promise<void>((closed) => probe.close(() => closed()));
  if (address === null || typeof address === 'string') throw new Error('A listening socket has no port');
  return address.port;
}
