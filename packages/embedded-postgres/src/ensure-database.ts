import postgres from 'postgres';

/** Creates a database when it is missing, through a connection to the database `postgres` of the same server. */
export async function ensureDatabase(administration: string, name: string): Promise<void> {
  const sql = postgres(administration, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => undefined });
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`;
    if (found.length === 0) {
      await sql`create database ${sql(name)}`.catch((error: { code?: string }) => {
        // Another process made it in between: duplicate_database, or unique_violation when at the very same moment.
        if (error.code !== '42P04' && error.code !== '23505') {
          throw error;
        }
      });
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}
