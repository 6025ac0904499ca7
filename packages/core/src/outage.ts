import { causesOf, codeOfCause, expressionOutage, isOfStatement, isOutage } from '@belay/contract/outage';
import type { Store } from './context.js';

/**
 * Returns whether an error is our own: an outage, or a statement that our database rejected. Neither is the workflow's fault. Check for
 * `Retryable` and `Terminal` first, because the error of a provider may be caused by a database as well.
 */
export function isOwnFailure(error: unknown): boolean {
  return isOutage(error) || causesOf(error).some(isOfStatement);
}

/** After so many milliseconds without an error an outage counts as over: the next error is logged again. */
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
