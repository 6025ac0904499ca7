import type { Sql } from 'postgres';

/**
 * Revokes from PUBLIC the rights that PostgreSQL gives every user in a new database: to connect, to create temporary
 * tables and, before version 15, to create in the schema `public`. A user who can connect could hold locks that others
 * wait for, such as the lock under which BullMQ migrates its tables, and send notifications. Returns false when the
 * user of the connection cannot revoke these rights; only the database's owner or a superuser can.
 */
export async function closeDatabase(sql: Sql): Promise<boolean> {
  if (await isClosed(sql)) return true;
  const [{ name } = { name: '' }] = await sql<{ name: string }[]>`select current_database() as name`;
  await revoke(sql`revoke connect, temporary on database ${sql(name)} from public`);
  await revoke(sql`revoke create on schema public from public`);
  return await isClosed(sql);
}

/** Returns whether PUBLIC has no right to connect to this database or to create in it. */
export async function isClosed(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ closed: boolean }[]>`
    select not has_database_privilege('public', current_database(), 'connect')
      and not has_schema_privilege('public', 'public', 'create') as closed`;
  return row?.closed ?? false;
}

/** A session that was opened before the database was closed to its login, and may not be ended. */
export interface Outsider {
  pid: number;
  login: string;
}

/**
 * Ends the sessions in this database whose logins may no longer connect to it: what they hold, such as a lock, stays theirs until
 * they end. Returns those that the user of the connection may not end.
 */
export async function endOutsiders(sql: Sql): Promise<Outsider[]> {
  const found = await sql<Outsider[]>`
    select pid, coalesce(usename, 'unknown') as login from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and usesysid is not null
      and exists (select from pg_roles where oid = usesysid) and not has_database_privilege(usesysid, datid, 'connect')`;
  const left: Outsider[] = [];
  for (const outsider of found) {
    await sql`select pg_terminate_backend(${outsider.pid})`.catch((error: { code?: string }) => {
      if (error.code !== '42501') throw error;
      left.push(outsider);
    });
  }
  return left;
}

/**
 * Revokes what the user may revoke: PostgreSQL reports the rest as a warning, or as error 42501 to a user without any
 * rights.
 */
async function revoke(statement: PromiseLike<unknown>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error;
  }
}
