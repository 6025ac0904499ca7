import { examineSession, meaningSettings } from '@belay/contract/postgres-session';
import { examinedOptions, readTls } from '@belay/contract/postgres-tls';
import postgres from 'postgres';

export type ClientSettings = postgres.Options<Record<string, never>> & {
  /**
   * The longest silence after something was sent, in milliseconds; then the connection is destroyed
   * (CONNECTION_SILENT).
   */
  silence: number;
  /**
   * How long a statement may wait for a place in the pool, in milliseconds (POOL_TIMEOUT); without limit when absent.
   */
  wait?: number;
  /**
   * How long after the last traffic of the pool an idle connection is checked, and how long the check may take, both
   * in milliseconds. When absent, a lost connection is noticed only by the statement that uses it.
   */
  pulse?: { every: number; answer: number };
};

/** How long a new connection may take until it can be used, in seconds. */
const connectSeconds = 3;

/** Returns the settings that limit how long a session may run, wait or hold locks, in milliseconds. */
export function limitsOf(statement: number, lock = statement) {
  return {
    // A transaction never spans a network call (docs/architecture.md, section 4), so an idle transaction has lost its
    // client, and its locks block others.
    idle_in_transaction_session_timeout: statement,
    lock_timeout: lock,
    statement_timeout: statement,
  };
}

/**
 * Creates a PostgreSQL client with a limit on every wait for a connection; our patch of the driver tracks when a
 * response is owed (docs/decisions/0062). Each connection asks for the settings that decide what statements mean, and is examined
 * once before its first statement; without them every statement fails with `SessionFault`. Connects lazily. Throws when the driver
 * lacks the patch: without it a lost connection ends the process; and `TlsParameterError`.
 */
export function createClient(address: string, { silence, wait, pulse, ...settings }: ClientSettings): postgres.Sql {
  if (!('survivesLostConnections' in postgres && postgres.survivesLostConnections === 7)) {
    throw new Error('The driver "postgres" lacks the patch in patches/: run "npm run build"');
  }
  const { url, options: tls, direct } = readTls(address);
  const { application_name: name = 'belay', ...own } = settings.connection ?? {};
  // Names are resolved in our own schema; nothing else on the search path can shadow them.
  const asked = { ...meaningSettings, search_path: 'public', ...own };
  const options = {
    connect_timeout: connectSeconds,
    // Seconds until the first keep-alive probe of an idle connection. Ten probes are sent at most, one second apart.
    keep_alive: 5,
    // We use no array types; reading them costs every new connection a query.
    fetch_types: false,
    onnotice: () => {},
    ...settings,
    // Limits that the caller does not give are not examined: they keep a default from breaking its first statement, and it sets its own.
    connection: { application_name: name, ...limitsOf(silence), ...asked },
    examination: examineSession(asked, 'rows'),
    ssl: tls === false ? false : examinedOptions(tls),
    ...(direct ? { sslnegotiation: 'direct' } : {}),
    silence_timeout: silence / 1000,
    wait_timeout: wait === undefined ? undefined : wait / 1000,
    ...(pulse ? { pulse: pulse.every / 1000, pulse_timeout: pulse.answer / 1000 } : {}),
  };
  return postgres(url, options);
}
