import { Retryable } from '../errors.js';
import type { HttpAnswer } from './answer.js';
import type { HttpCall, HttpClient } from './client.js';

/** A limit for lists whose pages never end: no list that a connector needs has more. */
const mostPages = 1_000;

/**
 * Yields the responses of a call and of the calls for the pages after it. `next` returns the call for the page after a response,
 * or undefined after the last page, as `nextByLink` and `nextByCursor` do. Throws `Retryable` when a page repeats or the pages
 * have no end.
 */
export async function* readPages(
  client: Pick<HttpClient, 'send'>,
  first: HttpCall,
  next: (answer: HttpAnswer, call: HttpCall) => HttpCall | undefined,
  signal: AbortSignal,
): AsyncGenerator<HttpAnswer> {
  const seen = new Set<string>();
  for (let call: HttpCall | undefined = first; call; ) {
    const key = JSON.stringify([call.path, call.query, call.json]);
    if (seen.has(key) || seen.size === mostPages) throw new Retryable('The pages of a list have no end');
    seen.add(key);
    const answer: HttpAnswer = await client.send(call, signal);
    yield answer;
    call = next(answer, call);
  }
}

/** Returns the call for the page that the `Link` header names as next (RFC 8288). The client rejects a page at another origin. */
export function nextByLink({ headers }: HttpAnswer, call: HttpCall): HttpCall | undefined {
  const next = nextLink(headers.link ?? '');
  const { query: _, ...rest } = call;
  return next === undefined ? undefined : { ...rest, path: next };
}

/** Returns the address of the next page in a `Link` header, as it is written there. */
export function nextLink(header: string): string | undefined {
  const links = header.split(/,\s*(?=<)/);
  return links.find((link) => /;\s*rel="?next"?\s*(;|$)/i.test(link))?.match(/^\s*<([^>]*)>/)?.[1];
}

/** Returns a `next` for `readPages` that sends the cursor in a response body as the query parameter `name`. */
export function nextByCursor(name: string, read: (body: unknown) => string | undefined) {
  return ({ body }: HttpAnswer, call: HttpCall): HttpCall | undefined => {
    const cursor = read(body);
    return cursor === undefined || cursor === '' ? undefined : { ...call, query: { ...call.query, [name]: cursor } };
  };
}
