export interface FetchBounds {
  /** The largest body of a response, uncompressed, in bytes. */
  bytes: number;
  /** How long the response may take, with its body, in milliseconds. */
  milliseconds: number;
}

/** The code of the error that ends a response of more bytes than the bound. */
export const tooLarge = 'ANSWER_TOO_LARGE';

/**
 * Returns a `fetch` with bounds: a response with more bytes ends with an error of the code `ANSWER_TOO_LARGE`, one that takes longer
 * with a `TimeoutError`. It follows no redirect unless the caller allows it: a server must not choose which other server is called.
 */
export function createBoundedFetch({ bytes, milliseconds }: FetchBounds): typeof fetch {
  return async (input, init) => {
    const ended = new AbortController();
    const given = init?.signal;
    const abort = () => ended.abort(given?.reason);
    // A timer of its own: a signal that is joined with `AbortSignal.any` can be collected before it fires.
    const timer = setTimeout(
      () => ended.abort(new DOMException('The response took too long', 'TimeoutError')),
      milliseconds,
    );
    const settle = () => {
      clearTimeout(timer);
      given?.removeEventListener('abort', abort);
    };
    if (given?.aborted) abort();
    given?.addEventListener('abort', abort, { once: true });
    try {
      const response = await fetch(input, { redirect: 'error', ...init, signal: ended.signal });
      if (response.body === null) {
        settle();
        return response;
      }
      const { status, statusText, headers } = response;
      return new Response(count(response.body, bytes, settle), { status, statusText, headers });
    } catch (error) {
      settle();
      throw error;
    }
  };
}

/** Returns the bytes of a body up to a bound. Calls `settle` when they end, also with an error. */
function count(body: ReadableStream<Uint8Array>, most: number, settle: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let read = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          settle();
          return controller.close();
        }
        read += value.byteLength;
        if (read <= most) return controller.enqueue(value);
        throw Object.assign(new Error('the response is too large'), { code: tooLarge });
      } catch (error) {
        settle();
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    async cancel(reason) {
      settle();
      await reader.cancel(reason);
    },
  });
}
