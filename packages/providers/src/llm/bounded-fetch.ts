import { Terminal } from '../errors.js';

/**
 * Returns a fetch for responses of limited size: it follows no redirect, so that a key goes nowhere else (`manual`
 * returns the redirect), and reads no more than `maximumBytes`. Throws `Terminal` beyond that.
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
    // The body was already decoded; these headers would describe the encoded bytes.
    headers.delete('content-encoding');
    headers.delete('content-length');
    const body = [204, 205, 304].includes(response.status) ? null : Buffer.concat(parts);
    return new Response(body, { status: response.status, statusText: response.statusText, headers });
  };
}
