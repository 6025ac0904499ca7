import { AccessError } from './errors.js';
import { unfitCodes } from './postgres-session.js';

/** The error message while the database is unavailable, or expressions cannot be evaluated. */
export const outageMessage = 'The service is temporarily unavailable; try again';

/** Too many expressions wait, or no thread can run them (`ExpressionOutage` of the workflow package). */
export const expressionOutage = 'EXPRESSIONS_UNAVAILABLE';

/** Failures of a connection, as Node and the driver name them. */
const connectionCodes = new Set<string>([
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
  // Nothing was sent over the connection: its statements would have meant something else, or its server is not the one that was meant.
  ...Object.values(unfitCodes),
]);

/**
 * SQLSTATE classes and codes of a server that cannot serve now (PostgreSQL, appendix A): connections, conflicts between
 * transactions, resources, an operator's intervention, system errors, timeouts of locks and of transactions, and a server that is
 * read-only for a while, as operators make one to keep writes away from it.
 */
const serverStates = [/^08...$/, /^25006$/, /^40...$/, /^53...$/, /^57...$/, /^58...$/, /^55P03$/, /^25P0[34]$/];

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
 * Returns whether an error or one of its causes says that our own database could not be reached or could not serve, or that
 * expressions cannot be evaluated now. Such an error is retried: it is never the fault of the caller or of the workflow.
 * Errors that a verb throws on purpose do not count, nor do failed connections to other systems.
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
 * Returns whether an error or one of its causes says that a service, ours or another, could not be reached or could not serve.
 * At the start of a program this is enough, because each step of the start uses one service.
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
