import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Logger } from '@belay/core';
import type { RequestState } from '@belay/rest';

/** In milliseconds. Streams are slow by nature, and few. */
const slow = 1_000;

/**
 * Writes one line when a request is over. Never the query (codes, states and sealed tokens travel there), a header or a
 * body.
 */
export function logRequest(
  log: Logger,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  state: RequestState,
): void {
  const begun = performance.now();
  const { method } = request;
  response.once('close', () => {
    const milliseconds = Math.round((performance.now() - begun) * 10) / 10;
    const status = response.writableFinished ? response.statusCode : 499;
    const detail = { requestId: state.id, method, path, status, milliseconds, user: state.user };
    if (status >= 500) log.warn(detail, 'request');
    // What went well and fast is for those who look closely; the ledger tells what was done.
    else if (status < 400 && milliseconds < slow) log.debug(detail, 'request');
    else log.info(detail, 'request');
  });
}
