import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '@belay/rest';

export interface GuardOptions {
  /** The port that is listened on. */
  port(): number;
  /** Whose connections are let in besides root's; undefined where the system has no such thing. */
  uid: number | undefined;
  /** Who is at the other end of a connection; undefined when the system does not say, `nobody` when it knows of no such connection. */
  peer(socket: Socket): Promise<number | 'nobody' | undefined>;
}

/** Where the browser comes back from the server's sign-in: by a redirect from another site, with a secret in the path. */
export const returnPath = /^\/auth\/return\/([\w-]{43})$/;

/**
 * Lets in what this machine's user asks for and nobody else: a connection of their own programs, a host name that is
 * ours (a name that was made to lead here is not), and never a page of another origin. Throws 403.
 */
export function createGuard({
  port,
  uid,
  peer,
}: GuardOptions): (request: IncomingMessage, path: string) => Promise<void> {
  const known = new WeakMap<Socket, Promise<boolean>>();

  async function isOurs(socket: Socket): Promise<boolean> {
    if (uid === undefined) return true;
    const owner = await peer(socket);
    return owner === undefined || owner === uid || owner === 0;
  }

  return async (request, path) => {
    const { socket, headers } = request;
    const ours = known.get(socket) ?? isOurs(socket);
    known.set(socket, ours);
    if (!(await ours)) throw refuse(403, 'This agent is for another user of this machine');
    const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port()}`);
    // Of several the first would be read, while whatever stands in between went by another (RFC 9112, section 3.2).
    const [host = '', ...more] = request.headersDistinct.host ?? [];
    if (more.length > 0 || !hosts.includes(host.toLowerCase())) {
      throw refuse(403, 'This agent is only for this machine, by its own name');
    }
    const { origin } = headers;
    if (origin !== undefined && !hosts.some((each) => origin === `http://${each}`)) {
      throw refuse(403, 'Pages of other origins have no part in this');
    }
    const site = headers['sec-fetch-site'];
    if (site === undefined || site === 'same-origin' || site === 'none') return;
    const comesBack =
      request.method === 'GET' &&
      returnPath.test(path) &&
      headers['sec-fetch-mode'] === 'navigate' &&
      headers['sec-fetch-dest'] === 'document';
    if (!comesBack) throw refuse(403, 'Pages of other origins have no part in this');
  };
}

/**
 * Who made a connection, as Linux's own table of connections has it. The whole address at both ends counts, not the port
 * alone: another user may take the port of one of our programs at another address of this machine. A table that cannot be
 * read names nobody; else whoever used up the files that may be open would be let in.
 */
export async function findPeer(
  { remoteAddress, remotePort, localAddress, localPort }: Socket,
  readTable: (path: string) => Promise<string> = (path) => readFile(path, 'utf8'),
): Promise<number | 'nobody' | undefined> {
  if (process.platform !== 'linux') return undefined;
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readTable(`/proc/net/${name}`).catch(() => '')));
  const [theirs, ours] = [entriesOf(remoteAddress, remotePort), entriesOf(localAddress, localPort)];
  for (const line of tables.join('\n').split('\n')) {
    const [, local = '', remote = '', , , , , uid = '', , inode = '0'] = line.trim().split(/\s+/);
    // The other end's row. A connection that its program has let go of belongs to nobody any more, and the table says 0
    // then, which is no root.
    if (theirs.includes(local) && ours.includes(remote)) return inode === '0' ? 'nobody' : Number(uid);
  }
  return 'nobody';
}

/** How the tables write an address of this machine's own: little-endian words in hexadecimal, IPv4 also within IPv6. */
function entriesOf(address = '', port = 0): string[] {
  const end = `:${hexOf(port, 4)}`;
  if (address === '::1') return [`00000000000000000000000001000000${end}`];
  const bytes = /^(?:::ffff:)?(127)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1);
  if (bytes === undefined) return [];
  const word = bytes
    .map((byte) => hexOf(Number(byte), 2))
    .toReversed()
    .join('');
  return [`${word}${end}`, `0000000000000000FFFF0000${word}${end}`];
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
