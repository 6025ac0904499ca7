import { Terminal } from '../errors.js';

/**
 * Returns a fetch for responses of limited size. It follows no redirect, so that a key reaches no other server (`manual` returns
 * the redirect), and throws `Terminal` when the response is larger than `mostBytes`.
 */
export function boundedFetch(mostBytes: number, redirect: 'error' | 'manual' = 'error'): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect });
    const body = await readBounded((response.body ?? []) as AsyncIterable<Uint8Array>, mostBytes);
    if (body === undefined) throw new Terminal(`The response is larger than ${mostBytes} bytes`);
    return remake(response, body);
  };
}

/** Returns the bytes of a body, or undefined when there are more than `mostBytes`. */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early ends the connection too.
  for await (const part of body) {
    size += part.byteLength;
    if (size > mostBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Returns a new response with the status and headers of another one, and its body that was already read. */
export function remake(
  { status, statusText, headers: sent }: { status: number; statusText: string; headers: Iterable<[string, string]> },
  body: Uint8Array<ArrayBuffer>,
): Response {
  const headers = new Headers([...sent]);
  // The body was already decoded; these headers would describe the encoded bytes.
  headers.delete('content-encoding');
  headers.delete('content-length');
  // 204, 205 and 304 may not have a body, not even an empty one.
  return new Response([204, 205, 304].includes(status) ? null : body, { status, statusText, headers });
}
