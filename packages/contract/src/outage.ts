import { AccessError } from './errors.js';

/** What a caller is told while the service lacks something of its own: its database, or room for expressions. */
export const outageMessage = 'The service is temporarily unavailable; try again';

/** Too many expressions wait, or no thread can run them (`ExpressionOutage` of the workflow package). */
export const expressionOutage = 'EXPRESSIONS_UNAVAILABLE';

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

/** Returns whether a code of an error says that a connection failed. */
export function isConnectionLoss(code: string): boolean {
  return connectionCodes.has(code);
}

/** Returns whether an SQLSTATE says that the server cannot serve now. */
export function isBusyState(code: string): boolean {
  return serverStates.some((state) => state.test(code));
}

/** An error of another system, as its connector reports it. Its cause is an error of that system, and not of our database. */
export abstract class SystemError extends Error {}

/**
 * Returns whether an error, or one that it was caused by, says that our own database could not be reached or could not
 * serve, or that expressions cannot be evaluated now. Such an error is waited out: it is never the caller's fault, and
 * never the workflow's. What a verb throws on purpose stands as it is, and a connection to another system that failed
 * does not count.
 */
export function isOutage(error: unknown): boolean {
  const errors = causesOf(error);
  return errors.some((one) => codeOf(one) === expressionOutage) || (errors.some(isOfStatement) && isUnreachable(error));
}

/** Returns whether an error is of one of our own statements: the driver and the query builder attach it to each. */
export function isOfStatement(error: Error): boolean {
  return 'query' in error && ('parameters' in error || 'params' in error);
}

/**
 * Returns whether an error, or one that it was caused by, says that a service could not be reached or could not serve,
 * regardless of whose it is: for a start, which has one service for each step.
 */
export function isUnreachable(error: unknown): boolean {
  return causesOf(error).some((one) => isConnectionLoss(codeOf(one)) || isBusyState(codeOf(one)));
}

/** Returns an error and its causes, up to an error that a verb threw on purpose or that is of another system. */
export function causesOf(error: unknown): Error[] {
  const found: Error[] = [];
  for (let one = error; one instanceof Error && found.length < 8; one = one.cause) {
    if (one instanceof AccessError || one instanceof SystemError) break;
    found.push(one);
  }
  return found;
}

/** Returns the code of the innermost cause that has one, or an empty text. */
export function codeOfCause(error: unknown): string {
  return causesOf(error).map(codeOf).findLast(Boolean) ?? '';
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
