import { isConnectionLoss } from '@belay/contract/outage';
import { Retryable, Terminal } from '../errors.js';

/** Result codes (RFC 4511, appendix A) by the names that this connector needs. */
export const code = {
  noSuchAttribute: 16,
  valueExists: 20,
  invalidSyntax: 21,
  noSuchObject: 32,
  invalidName: 34,
  notPermitted: 50,
  unwilling: 53,
  objectClassViolation: 65,
  entryExists: 68,
} as const;

/** Temporary errors: limits of time and administration, a busy or stopping server, and errors without a specific code. */
const passing = new Set([1, 3, 11, 51, 52, 80]);

const readable: Record<number, string> = {
  4: "The directory's size limit for the connector's account is too low",
  8: 'The directory requires an encrypted connection',
  10: 'The directory is a read-only copy; the address must be of a server that accepts changes',
  13: 'The directory requires an encrypted connection',
  19: 'The directory does not allow this membership',
  48: "The directory does not accept the connector's kind of sign-in",
  49: "The directory rejected the connector's credentials",
  50: "The connector's account is not permitted to do this",
};

/** Returns the result code of an error of the library; undefined for all others. */
export function codeOf(error: unknown): number | undefined {
  const cause = error instanceof Retryable || error instanceof Terminal ? error.cause : error;
  const found = cause instanceof Error ? (cause as Error & { code?: unknown }).code : undefined;
  return typeof found === 'number' ? found : undefined;
}

/** Converts an error to an error of the port. The message contains no address, name or value: those stay in `cause`. */
export function toPortError(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const result = codeOf(error);
  if (result !== undefined) {
    if (passing.has(result)) {
      return new Retryable(`The directory is temporarily unavailable (${result})`, { cause: error });
    }
    return new Terminal(`${readable[result] ?? 'The directory rejected the operation'} (${result})`, { cause: error });
  }
  if (isDistrust(error)) return new Terminal("The directory's certificate is not trusted", { cause: error });
  return new Retryable('The directory cannot be reached', { cause: error });
}

/** Node.js uses codes of system calls for errors of the connection, and codes of OpenSSL for errors of certificates. */
function isDistrust(error: unknown): boolean {
  const found = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  if (typeof found !== 'string' || isConnectionLoss(found)) return false;
  return found.startsWith('ERR_TLS_CERT') || /CERT|SELF_SIGNED|UNABLE_TO_|ISSUER/.test(found);
}
