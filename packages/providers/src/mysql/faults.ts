import { isConnectionLoss } from '@belay/contract/outage';
import { Retryable, Terminal } from '../errors.js';

/** Numbers of the errors for a role or privilege that the account does not have, or for a missing role or account. */
const absent = new Set([1141, 1133, 1269, 1396, 1959, 1962, 3523, 3530]);

/**
 * Temporary errors: connections or memory used up, locks, a server that is stopping or read-only, sessions that are read-only, a node of Galera that is
 * cut off (1047), statements and connections that were ended (MariaDB, "Error Codes").
 */
const passing = new Set([
  1037, 1038, 1040, 1041, 1047, 1053, 1129, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1290, 1317, 1792,
  1836, 1927, 1969, 3024, 4031,
]);

const readable: Record<number, string> = {
  1044: "The connector's database user is not permitted to do this",
  1142: "The connector's database user is not permitted to do this",
  1143: "The connector's database user is not permitted to do this",
  1146: 'The schema of the connector is not complete: run the statements of its setup again',
  1227: "The connector's database user is not permitted to do this",
  1356: 'The schema of the connector is not complete: run the statements of its setup again',
  1698: "The connector's database user does not have the admin option on the role",
  1820: "The password of the connector's database user has expired",
  1959: 'The role does not exist',
  1133: 'The account does not exist',
};

/** Messages for the errors with which the server rejects a new connection. */
const rejected: Record<number, string> = {
  1044: "The connector's database user is not permitted to use its schema",
  1045: "The database rejected the connector's credentials",
  1049: 'The schema of the connector does not exist',
  1130: "The database does not accept connections from the connector's address",
  1698: "The database rejected the connector's credentials",
  1820: "The password of the connector's database user has expired",
  1862: "The password of the connector's database user has expired",
  4151: "The connector's database user is locked",
  3118: "The connector's database user is locked",
};

/** Returns whether the server had no free connection. The spare connection can still be used then. */
export function isFull(error: unknown): boolean {
  return [1040, 1203, 1226].includes(numberOf(error));
}

/** Returns whether the error means that there is nothing to revoke. */
export function isAbsent(error: unknown): boolean {
  return absent.has(numberOf(error));
}

/** Returns whether the session that was to be ended has ended already. */
export function isUnknownSession(error: unknown): boolean {
  return numberOf(error) === 1094;
}

/**
 * Converts an error to an error of the port. The message contains no address, statement or value: those stay in `cause`.
 * `isConnecting`: the server has not accepted the connection yet.
 */
export function toPortError(error: unknown, isConnecting = false): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const number = numberOf(error);
  const code = codeOf(error);
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT') {
    return new Terminal('The database does not offer TLS', { cause: error });
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/.test(code)) {
    // Retryable, because an operator can correct the certificate, and access that is held must still end.
    return new Retryable("The certificate of the database is not trusted: check the provider's ca", { cause: error });
  }
  if (isConnectionLoss(code) || /^PROTOCOL_|^ERR_SOCKET|^ERR_STREAM/.test(code)) {
    return new Retryable('The database cannot be reached', { cause: error });
  }
  // Numbers below 1000 are errors of the server's files or memory.
  if (passing.has(number) || (number > 0 && number < 1000)) {
    return new Retryable(`The database is temporarily unavailable (${number})`, { cause: error });
  }
  const known = isConnecting ? rejected[number] : readable[number];
  // An error without a number does not come from the server: the connection broke.
  if (number === 0 && isConnecting) return new Retryable('The database cannot be reached', { cause: error });
  return new Terminal(`${known ?? 'The database rejected the statement'}${number ? ` (${number})` : ''}`, {
    cause: error,
  });
}

function numberOf(error: unknown): number {
  const cause = error instanceof Retryable || error instanceof Terminal ? error.cause : error;
  return (cause as { errno?: number } | undefined)?.errno ?? 0;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
