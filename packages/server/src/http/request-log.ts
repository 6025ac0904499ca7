import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { isOutage, isUnreachable } from '@belay/contract/outage';
import { type Context, type Logger, noteOutage } from '@belay/core';
import { isForeseen, isStream, type RequestState, stateOf } from '@belay/rest';
import { TRPCError } from '@trpc/server';
import type { Meters } from '../meters.js';

/** The milliseconds from which a request is logged as slow. Streams always are, but they are few. */
const slow = 1_000;

/**
 * Logs one line at the end of a request, and measures it. The line never contains the query, which can have codes, states and sealed
 * tokens, nor a header or a body.
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
    // Not for a stream, whose duration depends on its reader only.
    if (!isStream(request)) meters?.requested({ route: state.route, method, status, seconds: elapsed / 1_000 });
    const detail = { requestId: state.id, method, path, status, milliseconds, user: state.user };
    if (status >= 500) log.warn(detail, 'request');
    // Fast successful requests are logged at debug level; the audit log records what was done.
    else if (status < 400 && milliseconds < slow) log.debug(detail, 'request');
    else log.info(detail, 'request');
  });
}

/** Logs an unexpected error with the request id; an outage of the database is one line for all requests. */
export function logFailure(context: Context, request: IncomingMessage, error: unknown, detail: object = {}): void {
  const inner = error instanceof TRPCError ? (error.cause ?? error) : error;
  const { id, overdue } = stateOf(request);
  // The response to an overdue request was already sent, so its late result cannot be sent, and this is no failure.
  if (overdue && inner instanceof Error && 'code' in inner && inner.code === 'ERR_HTTP_HEADERS_SENT') return;
  const line = { requestId: id, ...detail, error: inner };
  if (isOutage(error)) noteOutage(context, error);
  else if (isUnreachable(error)) context.log.warn(line, 'request failed: another system cannot be reached');
  else if (!isForeseen(error)) context.log.error(line, 'request failed');
}
