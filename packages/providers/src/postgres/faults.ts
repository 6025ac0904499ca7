import { isBusyState, isConnectionLoss } from '@belay/contract/outage';
import { SessionFault, unfitCodes } from '@belay/contract/postgres-session';
import { TlsFault, TlsParameterError } from '@belay/contract/postgres-tls';
import { Retryable, Terminal } from '../errors.js';

/** Temporary errors besides those of `isBusyState`: a collision of names, and an object in use (PostgreSQL, appendix A). */
const passing = new Set(['23505', '55006']);

const readable: Record<string, string> = {
  '28P01': "The database rejected the connector's credentials",
  '28000': "The database rejected the connector's credentials",
  '3D000': 'The database does not exist',
  '42501': "The connector's database user is not permitted to do this",
  '42704': 'The database role does not exist',
  '0LP01': 'The database does not allow this membership',
  '2BP01': 'The holder granted the membership to others; only an administrator can revoke it',
};

/**
 * Returns whether the driver lost a connection, or could not open one in time. Only its codes for these errors begin
 * with `CONNECT`.
 */
export function isLost(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('CONNECT');
}

/** Returns whether the server had no free connection, lock or memory. The spare connection may still be usable then. */
export function isOutOfRoom(error: unknown): boolean {
  return /^53/.test(codeOf(error));
}

/** Returns whether the holder's own sessions may have blocked the transaction: locks, connections, memory, time. */
export function isBlocked(error: unknown): boolean {
  return isOutOfRoom(error) || ['55P03', '57014', '40P01'].includes(codeOf(error));
}

/** Returns whether the connector's user is not permitted to do what it tried. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === '42501';
}

/** A rename or another grant happened in between: the same transaction may succeed immediately. */
export class Overtaken extends Retryable {}

/**
 * Returns whether two sessions changed the same membership at the same time, so that the same transaction may succeed
 * immediately.
 */
export function isCollision(error: unknown): boolean {
  if (error instanceof Overtaken) return true;
  const code = codeOf(error);
  if (code === 'XX000') return messageOf(error).includes('concurrently');
  return ['23505', '40001', '40P01'].includes(code);
}

function codeOf(error: unknown): string {
  const cause = error instanceof Retryable || error instanceof Terminal ? error.cause : error;
  return cause instanceof Error ? ((cause as Error & { code?: string }).code ?? '') : '';
}

function messageOf(error: unknown): string {
  const cause = error instanceof Retryable || error instanceof Terminal ? error.cause : error;
  return cause instanceof Error ? cause.message : '';
}

/**
 * Converts an error to an error of the port. The message contains no address, statement or value: those stay in
 * `cause`.
 */
export function toPortError(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const code = codeOf(error);
  const unfit = explainConnection(error, code);
  // Retryable, because an operator can correct it, and access that is held must still end.
  if (unfit !== undefined) return new Retryable(unfit, { cause: error });
  // ENOENT: the Unix socket of the server does not exist.
  if (isConnectionLoss(code) || code === 'ENOENT')
    return new Retryable('The database cannot be reached', { cause: error });
  // PostgreSQL reports two sessions that change the same membership at the same time as an internal error.
  if (isCollision(error) && code === 'XX000') return new Retryable('The database is busy', { cause: error });
  if (isBusyState(code) || passing.has(code)) {
    return new Retryable(`The database is temporarily unavailable (${code})`, { cause: error });
  }
  const state = /^[0-9A-Z]{5}$/.test(code) ? ` (${code})` : '';
  return new Terminal(`${readable[code] ?? 'The database rejected the statement'}${state}`, { cause: error });
}

/** Returns why a connection could be opened but not used, which is a fault of the configuration, or undefined. */
function explainConnection(error: unknown, code: string): string | undefined {
  if (error instanceof SessionFault) {
    return `The database ignores the settings ${error.settings.join(' and ')}, as a connection pooler does: set them on the connector's database user (docs/connectors/postgres.md)`;
  }
  if (error instanceof TlsFault) return `${error.summary}; name its authority in sslrootcert`;
  if (error instanceof TlsParameterError) return error.message;
  if (code === unfitCodes.notOffered) return 'The database does not offer TLS, which sslmode demands';
  // PgBouncer's answer to a setting that it neither tracks nor ignores.
  if (code === '08P01') {
    return "A connection pooler rejects the connector's settings (08P01): list them in its ignore_startup_parameters (docs/connectors/postgres.md)";
  }
  return undefined;
}
