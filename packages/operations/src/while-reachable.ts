import { pauseAfter } from '@belay/contract/back-off';
import { codeOfCause, isUnreachable } from '@belay/contract/outage';
import { oneLine, StartError } from '@belay/program';

/**
 * How often a step of the start is made while its connection to the database is lost, and the first pause between two.
 */
const attempts = 4;
const pauses = { first: 500, last: 2_000 };

/**
 * Runs a step of the start, and again when the connection to the database was lost in it, for a few seconds. Throws
 * `StartError` that names the loss, or what else the step throws.
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

/** Codes of a connection that was there, or was accepted, and went away. */
const lost = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_SILENT',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
]);

/** Returns one line about a database that could not be reached; no password in it. */
export function explainOutage(url: string, error: unknown): string {
  const { host } = new URL(url);
  const code = codeOfCause(error);
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
