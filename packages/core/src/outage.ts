import { AccessError } from '@belay/contract/errors';
import type { Context } from './context.js';

/** What a caller is told while the service lacks something of its own: its database, or room for expressions. */
export const outageMessage = 'The service cannot serve this request at the moment; try again';

/** Too many expressions wait, or no thread can run them (`ExpressionOutage` of the workflow package). */
const expressionOutage = 'EXPRESSIONS_UNAVAILABLE';

/** Failures of a connection, as Node and the driver name them. */
const connectionCodes = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECTION_SILENT',
  'CONNECT_TIMEOUT',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'POOL_TIMEOUT',
]);

/**
 * SQLSTATE classes and codes of a server that cannot serve now (PostgreSQL, appendix A): connections, transactions that
 * others got in the way of, resources, an operator's intervention, system errors, waits for a lock or in a transaction.
 */
const serverStates = [/^08...$/, /^40...$/, /^53...$/, /^57...$/, /^58...$/, /^55P03$/, /^25P0[34]$/];

/**
 * Returns whether an error, or one that it was caused by, says that the database could not be reached or could not serve,
 * or that expressions cannot be evaluated now.
 * Such an error is waited out: it is never the caller's fault, and never the workflow's. What a verb throws on purpose stands
 * as it is: a provider that cannot be reached is no outage of ours.
 */
export function isOutage(error: unknown): boolean {
  return causesOf(error).some((one) => {
    const code = codeOf(one);
    return code === expressionOutage || connectionCodes.has(code) || serverStates.some((state) => state.test(code));
  });
}

/**
 * Returns whether an error is our own: an outage, or a statement that our database refused. Neither is the workflow's fault.
 * An error of the port to providers has to be told apart before: its cause may come from a database as well.
 */
export function isOwnFailure(error: unknown): boolean {
  // The driver and the query builder leave the statement with every error.
  return isOutage(error) || causesOf(error).some((one) => 'query' in one && ('parameters' in one || 'params' in one));
}

/** The error and what it was caused by, up to what a verb threw on purpose. */
function causesOf(error: unknown): Error[] {
  const found: Error[] = [];
  for (let one = error; one instanceof Error && !(one instanceof AccessError) && found.length < 8; one = one.cause) {
    found.push(one);
  }
  return found;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** How long one line of the log stands for an outage, in milliseconds. */
const quietFor = 10_000;
const noted = new WeakMap<object, number>();

/** Writes one line for an outage, however many requests meet it. */
export function noteOutage(ctx: Pick<Context, 'log' | 'clock'>, error: unknown): void {
  const now = ctx.clock().getTime();
  if (now - (noted.get(ctx.log) ?? Number.NEGATIVE_INFINITY) < quietFor) return;
  noted.set(ctx.log, now);
  const because = causesOf(error).map(codeOf).findLast(Boolean) ?? 'unknown';
  const what = because === expressionOutage ? 'expressions cannot be evaluated' : 'the database cannot be reached';
  ctx.log.error({ because }, `${what}; requests are answered with 503 until that is over`);
}
