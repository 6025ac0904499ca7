import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CliError } from '../cli-error.js';
import { within } from '../within.js';

export interface CodeListener extends AsyncDisposable {
  /** The address that the login must return to. */
  callback: string;
  /** Resolves to the code of the first return. Rejects when the login came back without a code, or when the wait ends. */
  code: Promise<string>;
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  });
  response.end(`<!doctype html><html lang="en"><title>Belay</title><p>${text}</p></html>\n`);
}

/**
 * Waits on a free loopback port for a browser to come back from a login (RFC 8252 §7.3). The path is secret, so that
 * another page or program cannot end the wait; the code alone is worthless without the verifier. The wait ends after
 * `patience` milliseconds, or when `signal` aborts.
 */
export async function listenForCode(
  secret: string,
  { signal: given, patience }: { signal: AbortSignal; patience: number },
): Promise<CodeListener> {
  const signal = within(given, patience);
  const path = `/callback/${secret}`;
  let resolve: (code: string) => void = () => {};
  let reject: (error: CliError) => void = () => {};
  const code = new Promise<string>((...settle) => {
    [resolve, reject] = settle;
  });
  // The promise can reject before it is awaited.
  code.catch(() => {});
  const server = createServer((request, response) => {
    // The path is not parsed as a URL: a local program can request `//`, which is not a valid URL, and the error would end the program.
    const [asked, query = ''] = (request.url ?? '').split('?', 2);
    if (request.method !== 'GET' || asked !== path) return answer(response, 404, 'Not found.');
    const received = new URLSearchParams(query).get('code');
    if (received === null) {
      reject(new CliError('forbidden', 'the sign-in was rejected or cancelled'));
      return answer(response, 400, 'The sign-in was rejected. You can close this page.');
    }
    resolve(received);
    answer(response, 200, 'Signed in. You can close this page and return to the terminal.');
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(0, '127.0.0.1', listening);
  });
  const onAbort = () => reject(new CliError('aborted', 'not signed in: the sign-in was not completed in time'));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    callback: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    code,
    async [Symbol.asyncDispose]() {
      signal.removeEventListener('abort', onAbort);
      // Wait until the last response has reached the browser, but not for idle connections.
      const closed = new Promise((resolveClosed) => server.close(resolveClosed));
      server.closeIdleConnections();
      await closed;
    },
  };
}

/** The two halves of PKCE (RFC 7636, S256): the browser carries the challenge, and the verifier stays in this process. */
interface Proof {
  verifier: string;
  challenge: string;
}

/** Makes a proof from 32 random bytes. */
export function createProof(random: Uint8Array): Proof {
  const verifier = Buffer.from(random).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
