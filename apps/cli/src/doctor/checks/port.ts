import { createServer } from 'node:net';
import { type Check, failed, noServerHere, ok } from '../check.js';

/** Returns why a server cannot listen on the port; undefined when it can. */
async function tryPort(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** Returns whether the program that listens at the address is Belay. */
async function isBelay(address: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(2_000);
    const response = await fetch(`${address}/.well-known/api-configuration`, { redirect: 'error', signal });
    const body: unknown = await response.json();
    return typeof body === 'object' && body !== null && 'serviceName' in body && body.serviceName === 'belay';
  } catch {
    return false;
  }
}

const cures: Record<string, string> = {
  EACCES: 'ports below 1024 need privileges: set PORT to a higher port and use a proxy in front',
  EADDRNOTAVAIL: 'HOST is not an address of this machine: correct it',
  ENOTFOUND: 'HOST cannot be resolved: correct it',
};

/** Checks that the server's port is free, or that Belay itself uses it. */
export const port: Check = {
  name: 'port',
  run: async ({ local }) => {
    const server = await local();
    if (server === undefined) return noServerHere;
    const { port: number, host } = server;
    if (number === 0) return ok('PORT is 0: any free port');
    const fault = await tryPort(number, host);
    if (fault === undefined) return ok(`${host}:${number} is free`);
    if (fault !== 'EADDRINUSE') {
      return failed(`cannot listen on ${host}:${number} (${fault})`, cures[fault] ?? 'correct HOST or PORT');
    }
    const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
    return (await isBelay(`http://${reachable}:${number}`))
      ? ok(`${host}:${number} is in use by Belay`)
      : failed(`${host}:${number} is in use by another program`, 'stop it, or set PORT to another one');
  },
};
