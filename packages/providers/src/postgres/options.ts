import { examineSession, meaningSettings } from '@belay/contract/postgres-session';
import { examinedOptions, readTls } from '@belay/contract/postgres-tls';
import postgres from 'postgres';

/**
 * How long a statement may take: longer than a catalog statement takes, and shorter than any quarantine that relies on
 * a call finishing (R5). The `silence_timeout` that is derived from it, together with the first back-off of a grant,
 * stays below the 10 s within which a target must work again (docs/guarantees.md).
 */
const statementMilliseconds = 5_000;
const lockMilliseconds = 4_000;

/** The settings that every connection to a target asks for, and that are in force before its first statement. */
const asked = {
  ...meaningSettings,
  // The holder may create names and operators in a schema that is open to all; these must never be found.
  search_path: 'pg_catalog',
  statement_timeout: statementMilliseconds,
  lock_timeout: lockMilliseconds,
  idle_in_transaction_session_timeout: statementMilliseconds,
};

/**
 * Opens connections to a target, lazily. Each is examined before its first statement (`SessionFault`, `TlsFault`). Throws
 * `TlsParameterError`.
 */
export function connect(address: string, options: postgres.Options<Record<string, never>>): postgres.Sql {
  const { url, options: tls, direct } = readTls(address);
  const own = {
    // A pooler between us and the server may give each transaction another connection, which breaks named statements.
    prepare: false,
    // Only text, numbers and booleans are sent here, so the round trip that reads array types has no use.
    fetch_types: false,
    connect_timeout: 5,
    // Seconds of silence after which our patch of the driver closes a connection that owes a response.
    silence_timeout: statementMilliseconds / 1000 + 2,
    // Seconds of quiet after which an idle connection is checked, and seconds for the response.
    pulse: 1,
    pulse_timeout: 3,
    // Seconds until the first keep-alive probe of an idle connection, such as the one that stands by.
    keep_alive: 10,
    onnotice: () => {},
    ...options,
    connection: { application_name: 'belay', ...asked },
    examination: examineSession(asked, 'target'),
    ssl: tls === false ? false : examinedOptions(tls),
    ...(direct ? { sslnegotiation: 'direct' } : {}),
  };
  return postgres(url, own);
}
