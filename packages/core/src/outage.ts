import { causesOf, codeOfCause, expressionOutage, isOutage } from '@belay/contract/outage';
import type { Context } from './context.js';

/**
 * Returns whether an error is our own: an outage, or a statement that our database refused. Neither is the workflow's fault.
 * An error of the port to providers has to be told apart before: its cause may come from a database as well.
 */
export function isOwnFailure(error: unknown): boolean {
  // The driver and the query builder leave the statement with every error.
  return isOutage(error) || causesOf(error).some((one) => 'query' in one && ('parameters' in one || 'params' in one));
}

/** How long one line of the log stands for an outage, in milliseconds. */
const quietFor = 10_000;
const noted = new WeakMap<object, number>();

/** Writes one line for an outage, however many requests meet it. */
export function noteOutage(ctx: Pick<Context, 'log' | 'clock'>, error: unknown): void {
  const now = ctx.clock().getTime();
  if (now - (noted.get(ctx.log) ?? Number.NEGATIVE_INFINITY) < quietFor) return;
  noted.set(ctx.log, now);
  const because = codeOfCause(error) || 'unknown';
  const what = because === expressionOutage ? 'expressions cannot be evaluated' : 'the database cannot be reached';
  ctx.log.error({ because }, `${what}; requests are rejected with 503 meanwhile`);
}
