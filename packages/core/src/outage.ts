import { causesOf, codeOfCause, expressionOutage, isOfStatement, isOutage } from '@belay/contract/outage';
import type { Store } from './context.js';

/**
 * Returns whether an error is our own: an outage, or a statement that our database rejected. Neither is the workflow's
 * fault. Check for an error of the port to providers first, because its cause may come from a database as well.
 */
export function isOwnFailure(error: unknown): boolean {
  return isOutage(error) || causesOf(error).some(isOfStatement);
}

/** An outage that no work met for this long is over, in milliseconds: the next one has a line of its own. */
const quietFor = 30_000;
const noted = new WeakMap<object, number>();

/** Logs one line for an outage, regardless of how long it lasts and of the number of requests that it affects. */
export function noteOutage(ctx: Pick<Store, 'log' | 'clock'>, error: unknown): void {
  const now = ctx.clock().getTime();
  const last = noted.get(ctx.log) ?? Number.NEGATIVE_INFINITY;
  noted.set(ctx.log, now);
  if (now - last < quietFor) return;
  const because = codeOfCause(error) || 'unknown';
  const what = because === expressionOutage ? 'expressions cannot be evaluated' : 'the database cannot be reached';
  ctx.log.error({ because }, `${what}; requests are rejected with 503 meanwhile`);
}
