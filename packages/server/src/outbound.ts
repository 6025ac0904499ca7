import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { isInner, isOwn, readBounded, remake, within } from '@belay/providers';

export interface AllowedHost {
  /** `host` or `host:port`. */
  host: string;
  /** Whether the host may have an address of this machine or of a private network. */
  allowPrivate: boolean;
}

export interface OutboundOptions {
  /** Returns the allow-list in force (`server.http_hosts`). Called per request and redirect: catalogs change. */
  allowed(): readonly AllowedHost[];
  /** Returns every address of a name. Called once per request and redirect; the system's resolver by default. */
  resolve?(name: string): Promise<string[]>;
  /** The most bytes of a response's body; 1 MiB by default. */
  maximumBytes?: number;
  /** How long a request may take with its body and redirects, in milliseconds; 30 s by default. */
  timeoutMilliseconds?: number;
}

/** The error when a request was not sent or its response was not accepted. Its message is for workflow authors. */
class OutboundError extends Error {
  override readonly name = 'OutboundError';
}

const maximumRedirects = 5;

async function resolveWithSystem(name: string): Promise<string[]> {
  return (await lookup(name, { all: true, verbatim: true })).map((entry) => entry.address);
}

/**
 * Creates the outbound client of `call: http` (docs/architecture.md, section 9): only hosts on the allow-list, only http and https, no
 * redirect to another origin, and bounded size and time. For each request and redirect, the name is resolved once, and
 * the connection is pinned to the address that was checked. A private or loopback address needs `allow_private: true`
 * in the entry of its host. The client throws `OutboundError`, or the error of the network.
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
  ): Promise<Response> {
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
      const taken = await readBounded(response.body ?? [], maximumBytes);
      if (taken === undefined) throw new OutboundError(`The response is larger than ${maximumBytes} bytes`);
      return Object.defineProperty(remake(response, taken), 'url', { value: url.href });
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
      if (location === null || !repeats || request.redirect === 'manual') return response;
      if (request.redirect === 'error') throw new OutboundError('The server responded with a redirect');
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (next?.origin !== url.origin) throw new OutboundError('A redirect to another host is not followed');
      if (redirects === maximumRedirects) throw new OutboundError('Too many redirects');
      url = next;
    }
  };
}
