import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Environment } from '@belay/operations';
import { StartError } from '@belay/program';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/**
 * The headers that proxies add: a request with one of them counts as from another machine, even over a local
 * connection.
 */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

/**
 * Rejects a start of the demo that other machines could reach, because its people have no passwords. Throws `StartError` with the variable
 * and the fix.
 */
export function requireLoopback(environment: Environment): void {
  const cure = 'write a belay.yaml, or unset it';
  const demo = 'the demo, whose people have no passwords, is for this machine only';
  if (!isLoopback(environment.host)) {
    throw new StartError(`HOST is "${environment.host}": ${demo}; ${cure}`);
  }
  if (environment.baseUrl !== undefined && !isLoopback(new URL(environment.baseUrl).hostname)) {
    throw new StartError(`BELAY_BASE_URL is "${environment.baseUrl}": ${demo}; ${cure}`);
  }
  if (environment.trustProxy !== undefined) {
    throw new StartError(`BELAY_TRUST_PROXY is "${environment.trustProxy}": ${demo}, not behind a proxy; ${cure}`);
  }
}

/**
 * Returns whether a request came from this machine and is for this machine: not through a proxy, and not under a name that a foreign DNS
 * server points here.
 */
export function isFromHere(request: IncomingMessage): boolean {
  const { headers, socket } = request;
  if (forwarding.some((name) => headers[name] !== undefined)) return false;
  const host = `http://${headers.host ?? ''}`;
  return URL.canParse(host) && isLoopback(new URL(host).hostname) && isLoopback(socket.remoteAddress ?? '');
}

function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(address);
  return family === 0 ? address.toLowerCase() === 'localhost' : loopback.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
