import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { closeDatabase } from './close-database.js';
import { takeTurn } from './turns.js';

/**
 * Brings the database to the newest schema, and keeps other users of its server out of it. Any number of processes may
 * call it at once: they take turns, because concurrent runs of the migrator fail. Returns whether every other user of the
 * server was kept out (`closeDatabase`).
 */
export async function migrateDatabase(url: string): Promise<{ closed: boolean }> {
  const turn = await takeTurn(url, 'migration');
  const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10, fetch_types: false });
  try {
    const closed = await closeDatabase(client);
    await migrate(drizzle(client), {
      migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)),
      migrationsSchema: 'public',
      migrationsTable: 'migrations',
    });
    return { closed };
  } finally {
    await client.end({ timeout: 5 });
    await turn.release();
  }
}
