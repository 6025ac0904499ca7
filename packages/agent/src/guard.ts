import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { refuse } from '@belay/rest';

export interface GuardOptions {
  /** The port that the agent listens on. */
  port(): number;
  /** The user whose connections are accepted, in addition to root's; undefined where the system has no user ids. */
  uid: number | undefined;
  /**
   * Returns the user id at the other end of a connection; undefined when the system does not report it, `nobody` when
   * the connection is not found in the system's tables.
   */
  peer(socket: Socket): Promise<number | 'nobody' | undefined>;
}

/** The path at which the browser returns from the server's sign-in: by a redirect from another site, with a secret in the path. */
export const returnPath = /^\/auth\/return\/([\w-]{43})$/;

/**
 * Returns a guard that throws 403 for a connection of another user (except root), a Host header that is not an address of this agent (DNS
 * rebinding), and a request from a page of another origin. The browser's return at `returnPath` may come from another site.
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
    // With several Host headers, a proxy could use another one than this program (RFC 9112, section 3.2).
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
