import { Terminal } from '../errors.js';

/**
 * A fetch for answers of a known size: it follows no redirect, so that a key goes nowhere else (`manual` gives it as the
 * answer), and reads no more than `maximumBytes`. Throws `Terminal` past that.
 */
export function boundedFetch(maximumBytes: number, redirect: 'error' | 'manual' = 'error'): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect });
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      size += part.byteLength;
      if (size > maximumBytes) throw new Terminal(`The response is larger than ${maximumBytes} bytes`);
      parts.push(part);
    }
    const headers = new Headers(response.headers);
    // The body was decoded already; these would describe bytes that are gone.
    headers.delete('content-encoding');
    headers.delete('content-length');
    const body = [204, 205, 304].includes(response.status) ? null : Buffer.concat(parts);
    return new Response(body, { status: response.status, statusText: response.statusText, headers });
  };
}
