import { once } from 'node:events';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure, type TLSSocket } from 'node:tls';
import { within } from '../within.js';
import { type LdapConfig, readUrl } from './config.js';

/** The library, which is loaded when a provider of this type is configured. */
export type Library = typeof import('ldapts');
export type Client = InstanceType<Library['Client']>;

const connectMilliseconds = 10_000;
const operationMilliseconds = 20_000;

/**
 * Runs `work` on a connection of its own to one server, signed in with the connector's account. The connection is cut when the
 * signal aborts, and is never opened a second time: the library would continue without credentials.
 */
export async function withConnection<T>(
  library: Library,
  config: LdapConfig,
  signal: AbortSignal,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const socket = await open(library, config, within(signal, connectMilliseconds));
  const cut = () => socket.destroy();
  signal.addEventListener('abort', cut, { once: true });
  try {
    if (signal.aborted) throw signal.reason;
    const client = clientOn(library, socket);
    await client.bind(config.bind_dn, config.password);
    return await work(client);
  } finally {
    signal.removeEventListener('abort', cut);
    socket.destroy();
  }
}

async function open(library: Library, config: LdapConfig, signal: AbortSignal): Promise<Socket> {
  const { protocol, host, port } = readUrl(config.url);
  const name = config.server_name ?? host;
  const tls = {
    ...(config.ca === undefined ? {} : { ca: config.ca }),
    ...(isIP(name) ? {} : { servername: name }),
    host,
  };
  if (protocol === 'ldaps:') return ready(connectSecure({ ...tls, port }), 'secureConnect', signal);
  const socket = await ready(connectPlain({ host, port }), 'connect', signal);
  if (!config.start_tls) return socket;
  try {
    await clientOn(library, socket).exop('1.3.6.1.4.1.1466.20037');
    // Bytes that an attacker sent before the encryption began are dropped with the client that read them.
    socket.removeAllListeners();
    return await ready(connectSecure({ ...tls, socket }), 'secureConnect', signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function ready<S extends Socket | TLSSocket>(socket: S, event: string, signal: AbortSignal): Promise<S> {
  try {
    await once(socket, event, { signal });
    // The library listens for errors from the first operation on; an error before that must not end the process.
    socket.on('error', () => {});
    return socket;
  } catch (error) {
    // Destroying the socket may emit one more error, which must not end the process.
    socket.on('error', () => {});
    socket.destroy();
    throw error;
  }
}

function clientOn(library: Library, socket: Socket): Client {
  let given = false;
  return new library.Client({
    url: 'ldap://directory',
    timeout: operationMilliseconds,
    createConnection: (() => {
      if (given) throw new Error('The connection to the directory was lost');
      given = true;
      return socket;
    }) as typeof connectPlain,
  });
}
