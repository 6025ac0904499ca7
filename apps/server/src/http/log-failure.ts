import type { IncomingMessage } from 'node:http';
import { isForeseen } from '@belay/api';
import { type Context, isOutage, noteOutage } from '@belay/core';
import { TRPCError } from '@trpc/server';
import { stateOf } from './state.js';

/** Writes a failure that was not foreseen to the log, under the request's id; an outage of the database is one line for all requests. */
export function logFailure(context: Context, request: IncomingMessage, error: unknown, detail: object = {}): void {
  if (isOutage(error)) noteOutage(context, error);
  else if (!isForeseen(error)) {
    const inner = error instanceof TRPCError ? (error.cause ?? error) : error;
    context.log.error({ requestId: stateOf(request).id, ...detail, error: inner }, 'request failed');
  }
}
