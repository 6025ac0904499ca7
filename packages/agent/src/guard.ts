import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '@belay/rest';

export interface GuardOptions {
  /** The port that is listened on. */
  port(): number;
  /** Whose connections are let in besides root's; undefined where the system has no such thing. */
  uid: number | undefined;
  /**
   * Who is at the other end of a connection; undefined when the system does not say, `nobody` when it knows of no such
   * connection.
   */
  peer(socket: Socket): Promise<number | 'nobody' | undefined>;
}

/**
 * Where the browser comes back from the server's sign-in: by a redirect from another site, with a secret in the path.
 */
export const returnPath = /^\/auth\/return\/([\w-]{43})$/;

/**
 * Accepts only requests of this machine's user: a connection of their own programs, a host name that is
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
    if (!(await ours)) throw refuse(403, 'This agent belongs to another user of this machine');
    const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port()}`);
    // Of several the first would be read, while a proxy in between could use another (RFC 9112, section 3.2).
    const [host = '', ...more] = request.headersDistinct.host ?? [];
    if (more.length > 0 || !hosts.includes(host.toLowerCase())) {
      throw refuse(403, 'The Host header does not match an address of this agent');
    }
    const { origin } = headers;
    if (origin !== undefined && !hosts.some((each) => origin === `http://${each}`)) {
      throw refuse(403, 'Cross-origin requests are not allowed');
    }
    const site = headers['sec-fetch-site'];
    if (site === undefined || site === 'same-origin' || site === 'none') return;
    const comesBack =
      request.method === 'GET' &&
      returnPath.test(path) &&
      headers['sec-fetch-mode'] === 'navigate' &&
      headers['sec-fetch-dest'] === 'document';
    if (!comesBack) throw refuse(403, 'Cross-origin requests are not allowed');
  };
}
