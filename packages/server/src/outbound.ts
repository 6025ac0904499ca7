import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { within } from '@belay/providers';
import type { Response as UndiciResponse } from 'undici';

export interface AllowedHost {
  /** `host` or `host:port`. */
  host: string;
  /** Whether the host may have an address of this machine or of a private network. */
  allowPrivate: boolean;
}

export interface OutboundOptions {
  /** The allow-list in force (`server.http_hosts`). Asked at every request, because catalogs change. */
  allowed(): readonly AllowedHost[];
  /** Answers every address of a name, once per request; the system's resolver by default. */
  resolve?(name: string): Promise<string[]>;
  /** The most bytes of a response's body; 1 MiB by default. */
  maximumBytes?: number;
  /** How long a request may take with its body and redirects, in milliseconds; 30 s by default. */
  timeoutMilliseconds?: number;
}

/** The error when a request was not sent or its response not accepted; its message is for workflow authors. */
class OutboundError extends Error {
  override readonly name = 'OutboundError';
}

const maximumRedirects = 5;

/** Addresses outside the public internet: this machine, private networks, and the metadata services of clouds. */
const inner = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  inner.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  // These carry an IPv4 address inside, which would have to be judged by itself; nothing here needs them.
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['100::', 64],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  inner.addSubnet(network, prefix, 'ipv6');
}

/**
 * Of these, what `allow_private` opens: networks that people have. Never where clouds keep credentials. One list for each
 * family: for an IPv6 address that has an IPv4 address in it, a list of both would go by that.
 */
const own = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  own.ipv4.addSubnet(network, prefix, 'ipv4');
}
own.ipv6.addAddress('::1', 'ipv6');
own.ipv6.addSubnet('fc00::', 7, 'ipv6');
// The addresses of clouds' metadata services lie in it.
const metadata = new BlockList();
metadata.addAddress('100.100.100.200', 'ipv4');
metadata.addSubnet('fd00:ec2::', 32, 'ipv6');
metadata.addSubnet('fd20:ce::', 32, 'ipv6');

function isOwn(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return isIP(address) !== 0 && own[family].check(address, family) && !metadata.check(address, family);
}

function isInner(address: string): boolean {
  const family = isIP(address);
  return family === 0 || inner.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

async function resolveWithSystem(name: string): Promise<string[]> {
  return (await lookup(name, { all: true, verbatim: true })).map((entry) => entry.address);
}

/**
 * Makes the outbound client of `call: http` (docs/architecture.md, section 9): hosts on the allow-list only, http and https only, the name
 * resolved once and the connection pinned to the address that was checked, no redirect to another origin, size and time
 * bounded. A private or loopback address is reached only where the entry of its host says `allow_private: true`.
 * The client throws `OutboundError`, or what the network throws.
 */
export function createOutbound(options: OutboundOptions): (request: Request) => Promise<Response> {
  const maximumBytes = options.maximumBytes ?? 1024 * 1024;
  const resolve = options.resolve ?? resolveWithSystem;

  async function chooseAddress(url: URL): Promise<string> {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new OutboundError(`Only http and https are allowed, not ${url.protocol.replace(':', '')}`);
    }
    if (url.username !== '' || url.password !== '')
      throw new OutboundError('Credentials in a URL are not allowed; use a header');
    const host = url.hostname.toLowerCase();
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const listed = options.allowed().filter((entry) => {
      const name = entry.host.toLowerCase();
      return name === `${host}:${port}` || (name === host && url.port === '');
    });
    if (listed.length === 0) throw new OutboundError(`${host}:${port} is not listed in server.http_hosts`);
    const allowPrivate = listed.some((entry) => entry.allowPrivate);
    const bare = host.replace(/^\[|\]$/g, '');
    const addresses = isIP(bare) === 0 ? await resolve(bare) : [bare];
    const address = addresses.find((each) => !isInner(each) || (allowPrivate && isOwn(each)));
    if (address === undefined) {
      throw new OutboundError(
        `${host} resolves to a private address; if that is intended, set allow_private: true for its entry in server.http_hosts`,
      );
    }
    return address;
  }

  async function send(
    url: URL,
    request: Request,
    body: ArrayBuffer | undefined,
    signal: AbortSignal,
  ): Promise<UndiciResponse> {
    const address = await chooseAddress(url);
    // Return the checked address for every name: a second resolution could differ.
    const pinned: LookupFunction = (_name, { all }, done) =>
      all
        ? (done as (error: null, found: { address: string; family: number }[]) => void)(null, [
            { address, family: isIP(address) },
          ])
        : done(null, address, isIP(address));
    // Loaded by the first request: most servers send none.
    const { Agent, fetch: undiciFetch } = await import('undici');
    const agent = new Agent({ connect: { lookup: pinned }, pipelining: 0, maxResponseSize: -1 });
    try {
      const response = await undiciFetch(url, {
        method: request.method,
        headers: [...request.headers],
        body: body ?? null,
        redirect: 'manual',
        dispatcher: agent,
        signal,
      });
      return await takeWhole(response, maximumBytes);
    } finally {
      void agent.destroy();
    }
  }

  return async function outbound(request) {
    const signal = within(request.signal, options.timeoutMilliseconds ?? 30_000);
    const body = request.body === null ? undefined : await request.arrayBuffer();
    let url = new URL(request.url);
    for (let redirects = 0; ; redirects++) {
      const response = await send(url, request, body, signal);
      const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null;
      // Only redirects that repeat the same request are followed; the workflow decides about the others.
      const repeats = response.status >= 307 || request.method === 'GET' || request.method === 'HEAD';
      if (location === null || !repeats || request.redirect === 'manual') return asGlobal(response, url);
      if (request.redirect === 'error') throw new OutboundError('The server responded with a redirect');
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (next?.origin !== url.origin) throw new OutboundError('A redirect to another host is not followed');
      if (redirects === maximumRedirects) throw new OutboundError('Too many redirects');
      url = next;
    }
  };
}

/** Reads the body up to the limit; rejects a larger one before it is stored. */
async function takeWhole(
  response: UndiciResponse,
  maximumBytes: number,
): Promise<UndiciResponse & { taken?: Uint8Array }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    if (size > maximumBytes) throw new OutboundError(`The response is larger than ${maximumBytes} bytes`);
    parts.push(part);
  }
  return Object.assign(response, { taken: Buffer.concat(parts) });
}

function asGlobal(response: UndiciResponse & { taken?: Uint8Array }, url: URL): Response {
  // 204, 205 and 304 may not have a body, not even an empty one.
  const body = [204, 205, 304].includes(response.status) ? null : Buffer.from(response.taken ?? []);
  const headers = new Headers([...response.headers]);
  // The body was decoded already; these would describe bytes that are gone.
  headers.delete('content-encoding');
  headers.delete('content-length');
  const made = new Response(body, { status: response.status, statusText: response.statusText, headers });
  Object.defineProperty(made, 'url', { value: url.href });
  return made;
}
