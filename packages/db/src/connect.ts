import postgres from 'postgres';

export type ClientSettings = postgres.Options<Record<string, never>> & {
  /** The longest silence, in milliseconds, after something was sent: then the connection is destroyed (CONNECTION_SILENT). */
  silence: number;
  /** How long a statement may wait for a place in the pool, in milliseconds (POOL_TIMEOUT); for ever when absent. */
  wait?: number;
  /**
   * Asks an idle connection whether it is still there, so many milliseconds after the pool last heard anything, and gives it so
   * many for the answer. Absent: a connection that is gone is found out by the statement that uses it.
   */
  pulse?: { every: number; answer: number };
};

/** How long a new connection may take until it can be used, in seconds. */
const connectSeconds = 3;

/**
 * Makes a client of PostgreSQL that waits for no connection for ever; our patch of the driver knows when something is owed
 * (docs/decisions/0062). Connects lazily. Throws when the driver lacks the patch: without it a lost connection ends the
 * process.
 */
export function createClient(url: string, { silence, wait, pulse, ...settings }: ClientSettings): postgres.Sql {
  if (!('survivesLostConnections' in postgres && postgres.survivesLostConnections === 5)) {
    throw new Error('The driver "postgres" lacks the patch in patches/: run "npm run build"');
  }
  const own = {
    connect_timeout: connectSeconds,
    // Seconds until the first probe of a connection on which nothing is sent. Ten more follow, a second apart.
    keep_alive: 5,
    // We use no array types; asking for them costs every new connection a query.
    fetch_types: false,
    onnotice: () => {},
    ...settings,
    silence_timeout: silence / 1000,
    wait_timeout: wait === undefined ? undefined : wait / 1000,
    ...(pulse ? { pulse: pulse.every / 1000, pulse_timeout: pulse.answer / 1000 } : {}),
  };
  return postgres(url, own);
}
