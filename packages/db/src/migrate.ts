import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import { closeDatabase } from './close-database.js';
import { createClient } from './connect.js';
import { takeTurn } from './turns.js';

/** How long one statement of a migration may take, in milliseconds: an index over a large table takes minutes. */
const longestStatement = 10 * 60_000;

/**
 * Brings the database to the newest schema, and keeps other users of its server out of it. Any number of processes may
 * call it at the same time: they take turns, because concurrent runs of the migrator fail. Returns whether every other
 * user of the server was kept out (`closeDatabase`).
 */
export async function migrateDatabase(url: string): Promise<{ closed: boolean }> {
  const turn = await takeTurn(url, 'migration');
  const client = createClient(url, {
    max: 1,
    silence: longestStatement + 2_000,
  });
  try {
    // Not when the connection opens: behind a pooler the limits of the database user are in force then.
    await client`select set_config(name, ${String(longestStatement)}, false) from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`;
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
