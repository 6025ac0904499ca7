import type { Sql } from 'postgres';

/**
 * Takes from PUBLIC what PostgreSQL gives every user of a server in a new database: to connect, to make temporary tables
 * and, in one that was made before version 15, to create in the schema `public`. Who may connect could hold what others
 * wait for, such as the lock under which BullMQ migrates its tables, and speak on the channels of notifications. Returns
 * false when the user of the connection may not take it away; only the database's owner or a superuser may.
 */
export async function closeDatabase(sql: Sql): Promise<boolean> {
  if (await isClosed(sql)) return true;
  const [{ name } = { name: '' }] = await sql<{ name: string }[]>`select current_database() as name`;
  await revoke(sql`revoke connect, temporary on database ${sql(name)} from public`);
  await revoke(sql`revoke create on schema public from public`);
  return await isClosed(sql);
}

/** Returns whether no user of the server may enter this database or create in it without having been given that. */
export async function isClosed(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ closed: boolean }[]>`
    select not has_database_privilege('public', current_database(), 'connect')
      and not has_schema_privilege('public', 'public', 'create') as closed`;
  return row?.closed ?? false;
}

/** Without the right to revoke it is a warning, or an error when the user has no rights there at all. */
async function revoke(statement: PromiseLike<unknown>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error;
  }
}
