import type { TestDatabase } from '@belay/testkit/database';

/** Copies every row, as a backup does, and returns a function that restores them; leaves out the clock of the tests. */
export async function backUp({ sql }: TestDatabase): Promise<() => Promise<void>> {
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'test_clock'`;
  await sql.unsafe('create schema backup');
  for (const { name } of tables) await sql.unsafe(`create table backup.${name} as table public.${name}`);
  return async () => {
    await sql.begin(async (tx) => {
      // Disables triggers and foreign keys: the rows are consistent, but are not inserted in order.
      await tx.unsafe('set local session_replication_role = replica');
      await tx.unsafe(`truncate ${tables.map(({ name }) => `public.${name}`).join(', ')}`);
      for (const { name } of tables) {
        await tx.unsafe(`insert into public.${name} overriding system value select * from backup.${name}`);
      }
    });
  };
}
