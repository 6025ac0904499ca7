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

/**
 * Creates a PostgreSQL client with a limit on every wait for a connection; our patch of the driver tracks when a
 * response is owed (docs/decisions/0062). Connects lazily. Throws when the driver lacks the patch: without it a lost
 * connection ends the process.
 */
export function createClient(url: string, { silence, wait, pulse, ...settings }: ClientSettings): postgres.Sql {
  if (!('survivesLostConnections' in postgres && postgres.survivesLostConnections === 6)) {
    throw new Error('The driver "postgres" lacks the patch in patches/: run "npm run build"');
  }
  const own = {
    connect_timeout: connectSeconds,
    // Seconds until the first keep-alive probe of an idle connection. Ten probes are sent at most, one second apart.
    keep_alive: 5,
    // We use no array types; reading them costs every new connection a query.
    fetch_types: false,
    onnotice: () => {},
    ...settings,
    silence_timeout: silence / 1000,
    wait_timeout: wait === undefined ? undefined : wait / 1000,
    ...(pulse ? { pulse: pulse.every / 1000, pulse_timeout: pulse.answer / 1000 } : {}),
  };
  return postgres(url, own);
}
