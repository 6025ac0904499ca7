import { pauseAfter } from '@belay/contract/back-off';
import { causesOf, codeOfCause, isUnreachable } from '@belay/contract/outage';
import { findSessionFault, unfitCodes } from '@belay/contract/postgres-session';
import { TlsFault, TlsParameterError } from '@belay/contract/postgres-tls';
import { oneLine, StartError } from '@belay/program';

/**
 * How often a step of the start is tried while the database is unreachable, and the first and longest pause in milliseconds.
 */
const attempts = 4;
const pauses = { first: 500, last: 2_000 };

/**
 * Runs a step of the start, and repeats it for a few seconds when the database is unreachable. Throws `StartError` with
 * the reason when it stays unreachable, and any other error of the step at once.
 */
export async function whileReachable<T>(
  place: { url: string; delay(milliseconds: number): Promise<void> },
  step: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await step();
    } catch (cause) {
      if (!isUnreachable(cause)) throw cause;
      if (attempt === attempts) throw new StartError(explainOutage(place.url, cause), { cause });
      await place.delay(pauseAfter(pauses, attempt));
    }
  }
}

/** Error codes of a connection that was established and then lost. */
const lost = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_SILENT',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
]);

/** Returns one line about a database that could not be reached, without the password. */
export function explainOutage(url: string, error: unknown): string {
  const { host } = new URL(url);
  const code = codeOfCause(error);
  const fault = findSessionFault(error);
  if (fault !== undefined) {
    return `DATABASE_URL: the server at ${host} ignores the settings ${fault.settings.join(' and ')}, as a connection pooler does; set them on the database user (docs/guides/scale.md)`;
  }
  const tls = causesOf(error).find((one) => one instanceof TlsFault || one instanceof TlsParameterError);
  if (tls instanceof TlsFault) {
    return `DATABASE_URL: the server at ${host} cannot be trusted: ${tls.message}; name its authority in sslrootcert, or in NODE_EXTRA_CA_CERTS`;
  }
  if (tls !== undefined) return `DATABASE_URL: ${tls.message}`;
  if (code === unfitCodes.notOffered) {
    return `DATABASE_URL: the server at ${host} does not offer TLS, which sslmode demands; turn it on (ssl = on), or use sslmode=disable`;
  }
  // PgBouncer's answer to a setting that it neither tracks nor ignores.
  if (code === '08P01') {
    return `DATABASE_URL: the server at ${host} rejects the settings of the connection (08P01), as a connection pooler does; list them in its ignore_startup_parameters (docs/guides/scale.md)`;
  }
  if (lost.has(code)) {
    return `DATABASE_URL: the connection to the database at ${host} was lost (${code}); check that the server runs and that no proxy or firewall closes connections`;
  }
  if (/^[0-9A-Z]{5}$/.test(code) && code !== 'EPIPE') {
    return `DATABASE_URL: the database at ${host} is unavailable (${code}: ${oneLine(innermost(error))}); start again when it is available`;
  }
  return `DATABASE_URL: the database at ${host} cannot be reached (${code || oneLine(error)}); start it, or correct the address`;
}

function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;
}
