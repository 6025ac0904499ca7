import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Logger } from '@belay/core';
import { isStream, type RequestState } from '@belay/rest';
import type { Meters } from '../meters.js';

/** In milliseconds. Streams are slow by nature, and few. */
const slow = 1_000;

/**
 * Writes one line when a request is over, and measures it. Never the query (codes, states and sealed tokens travel there), a header or a
 * body.
 */
export function logRequest(
  log: Logger,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  state: RequestState,
  meters: Meters | undefined,
): void {
  const begun = performance.now();
  const { method } = request;
  response.once('close', () => {
    const elapsed = performance.now() - begun;
    const milliseconds = Math.round(elapsed * 10) / 10;
    const status = response.writableFinished ? response.statusCode : 499;
    // A stream is open for as long as its reader likes, which says nothing of us.
    if (!isStream(request)) meters?.requested({ route: state.route, method, status, seconds: elapsed / 1_000 });
    const detail = { requestId: state.id, method, path, status, milliseconds, user: state.user };
    if (status >= 500) log.warn(detail, 'request');
    // Fast successful requests are logged at debug level; the audit log records what was done.
    else if (status < 400 && milliseconds < slow) log.debug(detail, 'request');
    else log.info(detail, 'request');
  });
}
