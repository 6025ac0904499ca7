import type { Statements } from './database.js';

/** The identifiers of a membership that a rename leaves as they are. */
type Subject = { role: number; identity: number };

/** Returns the fingerprint of the database: the server's system identifier and the database's own oid. */
export async function readTarget(sql: Statements): Promise<string> {
  const [row] = await sql<[{ target: string }]>`
    select c.system_identifier::text || '/' || d.oid::text as target
    from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database()`;
  return row.target;
}

/** Returns the oids of a role and an identity, or null when one of them does not exist. */
export async function readSubject(sql: Statements, role: string, identity: string): Promise<Subject | null> {
  const [row] = await sql<Subject[]>`
    select r.oid::int8::float8 as role, i.oid::int8::float8 as identity
    from pg_catalog.pg_roles r, pg_catalog.pg_roles i
    where r.rolname = ${role}::text and i.rolname = ${identity}::text`;
  return row ?? null;
}
