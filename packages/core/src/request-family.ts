import { type Database, execute, executions, type SqlText, sqlText, type Transaction } from '@belay/db';

/**
 * Returns the SQL of the ids of a request, and of all requests that it extends or that extend it, directly or through others. Their grants
 * hold the same access, which ends only with the last of them.
 */
export function familyOf(id: SqlText): SqlText {
  // These names must not occur in the surrounding query, because `id` may be one of its columns.
  return sqlText`(
    with recursive family_above (id, extends_id) as (
      select family_one.id, family_one.extends_id from ${executions} family_one where family_one.id = ${id}
      union select family_one.id, family_one.extends_id from ${executions} family_one
        join family_above on family_one.id = family_above.extends_id),
    family (id) as (
      select id from family_above where extends_id is null
      union select family_one.id from ${executions} family_one join family on family_one.extends_id = family.id)
    select id from family)`;
}

/** Returns the ids of the requests that extend a request, directly or through others, the latest first. */
export async function listExtensions(db: Database | Transaction, id: string): Promise<string[]> {
  const rows = await execute<{ id: string }>(
    db,
    sqlText`
    with recursive family (id, created_at) as (
      select id, created_at from ${executions} where extends_id = ${id}::uuid
      union select e.id, e.created_at from ${executions} e join family on e.extends_id = family.id)
    select id from family order by created_at desc, id desc`,
  );
  return rows.map((row) => row.id);
}

/** Returns the ids that `familyOf` selects, the oldest request first; with `ownerId`, only those of this person. */
export async function listFamily(db: Database | Transaction, id: string, ownerId?: string): Promise<string[]> {
  const rows = await execute<{ id: string }>(
    db,
    sqlText`select id from ${executions} where id in ${familyOf(sqlText`${id}::uuid`)}
      ${ownerId === undefined ? sqlText`` : sqlText`and owner_id = ${ownerId}::uuid`} order by created_at, id`,
  );
  return rows.map((row) => row.id);
}
