import type { Statements } from './database.js';

/**
 * Predefined roles whose members can take over the server, lock others out, or leave something active there
 * (PostgreSQL manual, "Predefined Roles").
 */
const commanding = [
  'pg_execute_server_program',
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_signal_backend',
  'pg_maintain',
  'pg_create_subscription',
  'pg_use_reserved_connections',
].join(',');

/** Why a role counts as privileged, as the end of "The database role …". */
export const reasons = {
  attribute: 'is or can become a superuser, or has CREATEROLE, REPLICATION or BYPASSRLS',
  login: 'can sign in, and before PostgreSQL 16 its holder can set its password',
  predefined: 'is or inherits a predefined role that acts on the whole server',
  admin: 'can grant membership of a role to others',
  owner: 'owns objects, which its holder can change or grant permanently',
  option: 'holds privileges with grant option, which its holder can grant permanently',
  attach: 'holds TRIGGER or REFERENCES on a table, with which its holder can attach objects that remain',
  create: 'can create objects in a schema or a database, which remain',
  foreign:
    'holds privileges on a foreign server, a data wrapper or a setting, with which its holder can create objects that remain',
} as const;

export type Reason = keyof typeof reasons;

/**
 * Returns a query for the roles of the server whose member could keep something after the membership has ended, with
 * the reason: columns `id` and `reason`. Checks the privileges in the current database, and attributes, memberships and
 * owners everywhere.
 */
export function selectBuilders(sql: Statements) {
  return sql`
    select oid as id, 'attribute' as reason from pg_catalog.pg_roles
    where rolsuper or rolcreaterole or rolreplication or rolbypassrls
    union all
    select oid, 'login' from pg_catalog.pg_roles
    where rolcanlogin and pg_catalog.current_setting('server_version_num')::int < 160000
    union all
    select oid, 'predefined' from pg_catalog.pg_roles
    where rolname = any (pg_catalog.string_to_array(${commanding}, ','))
    union all
    select member, 'admin' from pg_catalog.pg_auth_members where admin_option
    union all
    select refobjid, 'owner' from pg_catalog.pg_shdepend
    where refclassid = 'pg_catalog.pg_authid'::regclass and deptype = 'o'
    union all
    select (e.entry).grantee, case
        when (e.entry).is_grantable then 'option'
        when e.kind = 'relation' then 'attach'
        when e.kind = 'default' then case when (e.entry).privilege_type = 'CREATE' then 'create' else 'attach' end
        when e.kind in ('schema', 'database') then 'create'
        when e.kind = 'catalog' then 'predefined'
        else 'foreign' end
    from (
      select a.kind, pg_catalog.aclexplode(a.acl) as entry from (
        select 'relation' as kind, relacl as acl from pg_catalog.pg_class
        union all select 'relation', attacl from pg_catalog.pg_attribute
        union all select 'catalog', relacl from pg_catalog.pg_class where relnamespace = 'pg_catalog'::regnamespace
        union all select 'function', proacl from pg_catalog.pg_proc
        union all select 'schema', nspacl from pg_catalog.pg_namespace
        union all select 'database', datacl from pg_catalog.pg_database
        union all select 'tablespace', spcacl from pg_catalog.pg_tablespace
        union all select 'type', typacl from pg_catalog.pg_type
        union all select 'language', lanacl from pg_catalog.pg_language
        union all select 'object', lomacl from pg_catalog.pg_largeobject_metadata
        union all select 'wrapper', fdwacl from pg_catalog.pg_foreign_data_wrapper
        union all select 'server', srvacl from pg_catalog.pg_foreign_server
        union all select 'setting', paracl from pg_catalog.pg_parameter_acl
        union all select 'default', defaclacl from pg_catalog.pg_default_acl
      ) a where a.acl is not null
    ) e
    where (e.entry).is_grantable
       or (e.kind in ('relation', 'default') and (e.entry).privilege_type in ('TRIGGER', 'REFERENCES'))
       or (e.kind in ('schema', 'database', 'default') and (e.entry).privilege_type = 'CREATE')
       or (e.kind = 'catalog' and (e.entry).privilege_type = 'MAINTAIN')
       or e.kind in ('wrapper', 'server', 'setting')`;
}
