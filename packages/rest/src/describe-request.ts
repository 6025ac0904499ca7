import type { IncomingMessage } from 'node:http';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { RequestInfo } from './exchange.js';
import { names, negotiate } from './negotiate.js';
import { type CookieNames, readCookie } from './security.js';
import { stateOf } from './state.js';

/** Returns what procedures may know of a request. Throws `invalid` for an Idempotency-Key that is not valid. */
export function describeRequest(
  request: IncomingMessage,
  given: { origin: string; cookies: CookieNames; transport: RequestInfo['transport']; viaCookie: boolean },
): RequestInfo {
  const { transport, viaCookie } = given;
  const address = request.url ?? '/';
  const { accept } = request.headers;
  const query = address.indexOf('?');
  const accepts = negotiate(accept, ['application/json', 'text/html']) === 'text/html' ? 'html' : 'json';
  const info: RequestInfo = {
    id: stateOf(request).id,
    transport,
    method: request.method ?? 'GET',
    path: query < 0 ? address : address.slice(0, query),
    // Few procedures read the URL, so it is only made when it is read.
    get url() {
      return new URL(`${given.origin}${address}`);
    },
    // Only the verification of signatures reads the headers.
    get headers() {
      const single = Object.entries(request.headers).filter(
        (entry): entry is [string, string] => !Array.isArray(entry[1]),
      );
      return Object.fromEntries(single);
    },
    accepts,
    jsonRequested: transport === 'trpc' || (accepts === 'json' && names(accept, 'application/json')),
    viaCookie,
  };
  const fetchSite = request.headers['sec-fetch-site'];
  if (typeof fetchSite === 'string') info.secFetchSite = fetchSite;
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') info.idempotencyKey = requireKey(key);
  const webhook = readWebhook(request);
  if (webhook !== undefined) info.webhook = webhook;
  const secret = readCookie(request, given.cookies.flow);
  if (secret !== undefined && /^[\w-]{43}$/.test(secret)) info.browserSecret = secret;
  return info;
}

/**
 * Returns the headers of Standard Webhooks; undefined unless all three are present. Node.js joins repeated headers with
 * a comma.
 */
function readWebhook({ headers }: IncomingMessage): RequestInfo['webhook'] {
  const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((part) => headers[`webhook-${part}`]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return undefined;
  return { id, timestamp, signature };
}

/** Returns an idempotency key of visible ASCII, so that no system takes two different keys for the same one. Throws `invalid`. */
export function requireKey(key: string): string {
  if (key.length <= limits.idempotencyKey && /^[\x21-\x7e]+$/.test(key)) return key;
  throw invalid('Idempotency-Key', `must be 1 to ${limits.idempotencyKey} visible ASCII characters`);
}
