import type { Statements } from './database.js';

/** What has to be known about a role and an identity before one is made a member of the other. */
export interface Facts {
  roleExists: boolean;
  /** Whoever can become this role could change other roles, hand the access on, or act outside the database. */
  rolePrivileged: boolean;
  identityExists: boolean;
  identityCanLogin: boolean;
  /** The identity is the user that this connector signs in as. */
  identityIsOurs: boolean;
  held: boolean;
}

/** Predefined roles whose members can take the server over (PostgreSQL manual, "Predefined Roles"). */
const commanding = 'pg_execute_server_program,pg_read_server_files,pg_write_server_files';

/**
 * Reads the facts in one statement. Names are compared as text: compared as `name`, the server would cut a long one
 * off and answer for another role.
 */
export async function readFacts(sql: Statements, role: string, identity: string): Promise<Facts> {
  const [facts] = await sql<[Facts]>`
    with recursive reach (id) as (
      select oid from pg_catalog.pg_roles where rolname = ${role}::text
      union
      select m.roleid from pg_catalog.pg_auth_members m join reach on m.member = reach.id
    ),
    identity as (select * from pg_catalog.pg_roles where rolname = ${identity}::text)
    select
      exists (select from reach) as "roleExists",
      exists (
        select from pg_catalog.pg_roles r join reach on r.oid = reach.id
        where r.rolsuper or r.rolcreaterole or r.rolreplication or r.rolbypassrls
           or r.rolname = any (string_to_array(${commanding}, ','))
      ) or exists (
        select from pg_catalog.pg_auth_members m join reach on m.member = reach.id where m.admin_option
      ) as "rolePrivileged",
      exists (select from identity) as "identityExists",
      exists (select from identity where rolcanlogin) as "identityCanLogin",
      exists (select from identity where rolname in (current_user, session_user)) as "identityIsOurs",
      exists (
        select from pg_catalog.pg_auth_members m
        join identity i on i.oid = m.member
        join pg_catalog.pg_roles r on r.oid = m.roleid
        where r.rolname = ${role}::text
      ) as held`;
  return facts;
}

/** Whether `identity` is a direct member of `role`, by whoever's grant. */
export async function readMembership(sql: Statements, role: string, identity: string): Promise<boolean> {
  const [row] = await sql<[{ held: boolean }]>`
    select exists (
      select from pg_catalog.pg_auth_members m
      join pg_catalog.pg_roles r on r.oid = m.roleid
      join pg_catalog.pg_roles i on i.oid = m.member
      where r.rolname = ${role}::text and i.rolname = ${identity}::text
    ) as held`;
  return row.held;
}
