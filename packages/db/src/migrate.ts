import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';

/** Any number that nobody else uses: it names our migration lock in the database. */
const migrationLock = 7_235_309_114;

/**
 * Brings the database to the newest schema. Any number of processes may call it at once: they take turns under an
 * advisory lock, because concurrent runs of the migrator fail (design §13).
 */
export async function migrateDatabase(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10, fetch_types: false });
  try {
    await client`select pg_advisory_lock(${migrationLock})`;
    await migrate(drizzle(client), {
      migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)),
      migrationsSchema: 'public',
      migrationsTable: 'migrations',
    });
  } finally {
    // Ending the connection gives the lock back, also when the migration failed.
    await client.end({ timeout: 5 });
  }
}
