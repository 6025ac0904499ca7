import { Retryable, Terminal } from '../errors.js';

/** Failures of the connection itself, as Node and postgres.js name them. */
const unreachable = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
]);

/** SQLSTATE classes and codes after which the same statement may go well (PostgreSQL, appendix A). */
const passing = [/^08/, /^40/, /^53/, /^57/, /^58/, /^55P03$/, /^55006$/, /^23505$/];

const readable: Record<string, string> = {
  '28P01': "The database refuses the connector's credentials",
  '28000': "The database refuses the connector's credentials",
  '3D000': 'The database does not exist',
  '42501': "The connector's database user is not permitted to do this",
  '42704': 'The database role does not exist',
  '0LP01': 'The database does not allow this membership',
  '2BP01': 'The membership was handed on to others, and only an administrator can take it away',
};

/**
 * What went wrong, in the port's two words. The message carries no address, statement or value: those stay in
 * `cause`.
 */
export function toPortError(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const { code = '', message = '' } = error instanceof Error ? (error as Error & { code?: string }) : {};
  if (unreachable.has(code)) return new Retryable('The database cannot be reached', { cause: error });
  // Two sessions that change the same membership at once: PostgreSQL reports it as an internal error.
  if (code === 'XX000' && message.includes('concurrently'))
    return new Retryable('The database is busy', { cause: error });
  if (passing.some((pattern) => pattern.test(code))) {
    return new Retryable(`The database cannot do this now (${code})`, { cause: error });
  }
  const state = /^[0-9A-Z]{5}$/.test(code) ? ` (${code})` : '';
  return new Terminal(`${readable[code] ?? 'The database refused'}${state}`, { cause: error });
}
