import { BelayError } from '../errors.js';
import { readFailure } from './read-failure.js';

/** The part of `fetch` that the SDK uses; any implementation of it works. */
export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

function readsAs(response: Response, type: string): boolean {
  return (response.headers.get('content-type') ?? '').startsWith(type);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns a `fetch` that throws BelayError for everything except a result of Belay, so that calls and streams fail in the same way. It does
 * not follow redirects: Belay never sends one here, and following it would turn a POST into a GET.
 */
export function createSend(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' }).catch((cause: unknown) => {
      if (init?.signal?.aborted) throw new BelayError('aborted', 'the call was aborted', { status: 0, cause });
      throw new BelayError('network', `no response from ${new URL(input).origin}`, { status: 0, cause });
    });
    if (response.ok && (readsAs(response, 'application/json') || readsAs(response, 'text/event-stream')))
      return response;
    const { status, headers } = response;
    const isRedirect = (status >= 300 && status < 400) || response.type === 'opaqueredirect';
    // A page of another program, or of a proxy in front of Belay: its 401 or 404 is not an error of Belay.
    const isForeign = !readsAs(response, 'application/json') && [401, 404].includes(status);
    if (response.ok || isRedirect || isForeign) {
      await response.body?.cancel();
      const answer = isRedirect ? 'a redirect' : `${response.ok ? '' : `${status} and `}a body that is not JSON`;
      throw new BelayError('network', `${new URL(input).origin} returned ${answer}; is this the address of Belay?`, {
        status,
      });
    }
    const text = await response.text();
    const body = parse(text);
    // An unhealthy service returns 503 with its health, which is a result for the caller and not a failed call.
    if (typeof body === 'object' && body !== null && 'result' in body) return new Response(text, { headers });
    throw readFailure({ status, headers, body });
  };
}
