import type { IncomingMessage } from 'node:http';
import { isOutage } from '@belay/contract/outage';
import { type Context, noteOutage } from '@belay/core';
import { isForeseen, stateOf } from '@belay/rest';
import { TRPCError } from '@trpc/server';

/** Logs an unexpected error with the request id; an outage of the database is one line for all requests. */
export function logFailure(context: Context, request: IncomingMessage, error: unknown, detail: object = {}): void {
  if (isOutage(error)) noteOutage(context, error);
  else if (!isForeseen(error)) {
    const inner = error instanceof TRPCError ? (error.cause ?? error) : error;
    context.log.error({ requestId: stateOf(request).id, ...detail, error: inner }, 'request failed');
  }
}
