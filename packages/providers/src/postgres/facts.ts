import { Terminal } from '../errors.js';
import { type Reason, reasons, selectBuilders } from './builders.js';
import type { PostgresConfig } from './config.js';
import type { Statements } from './database.js';
import { canWithholdSet } from './membership.js';
import type { Subject } from './pin.js';

/** The facts about a role and an identity that decide whether a grant is allowed. */
export interface Facts {
  identityCanLogin: boolean;
  /** The identity is the user that this connector signs in as. */
  identityIsOurs: boolean;
  /**
   * The identity may end the connector's sessions, lock its catalogs, use its reserved connections, or close the
   * database.
   */
  identityObstructs: boolean;
  /** The role is, or is a member of, the user that this connector signs in as. */
  roleIsOurs: boolean;
  /** Why the role counts as privileged; null when it does not. */
  reason: Reason | null;
  /** Other databases of the server in which the role has privileges, which cannot be read from here. */
  elsewhere: string[];
}

/** Reads the facts of a role and an identity that both exist. */
export async function readFacts(sql: Statements, { role, identity }: Subject): Promise<Facts> {
  const [row] = await sql<[Omit<Facts, 'elsewhere'> & { elsewhere: string }]>`
    with recursive reach (id) as (
      select ${role.id}::int8::oid
      union
      select m.roleid from pg_catalog.pg_auth_members m join reach on m.member = reach.id
    ),
    standing (id) as (
      select ${identity.id}::int8::oid
      union
      select m.roleid from pg_catalog.pg_auth_members m join standing s on m.member = s.id
    ),
    mine as (select oid as id from pg_catalog.pg_roles where rolname in (current_user, session_user))
    select
      exists (select from pg_catalog.pg_roles where oid = ${identity.id}::int8::oid and rolcanlogin) as "identityCanLogin",
      exists (select from mine where id = ${identity.id}::int8::oid) as "identityIsOurs",
      exists (select from mine join reach using (id)) as "roleIsOurs",
      exists (
        select from standing s join pg_catalog.pg_roles r on r.oid = s.id
        where r.rolname in ('pg_signal_backend', 'pg_maintain', 'pg_use_reserved_connections')
           or r.oid = (select datdba from pg_catalog.pg_database where datname = pg_catalog.current_database())
      ) as "identityObstructs",
      (select min(b.reason) from (${selectBuilders(sql)}) b join reach using (id)) as reason,
      (
        select coalesce(pg_catalog.jsonb_agg(distinct d.datname), '[]')::text
        from pg_catalog.pg_shdepend s join reach on s.refobjid = reach.id
        join pg_catalog.pg_database d on d.oid = s.dbid
        where s.refclassid = 'pg_catalog.pg_authid'::regclass and d.datname <> pg_catalog.current_database()
      ) as elsewhere`;
  return { ...row, elsewhere: JSON.parse(row.elsewhere) as string[] };
}

/** Throws `Terminal` when the role must not be granted to the identity; `version` is the server's. */
export function refuse(facts: Facts, config: PostgresConfig, version: number): void {
  if (!facts.identityCanLogin) throw new Terminal('The identity is a group of the database, not a login role');
  if (facts.identityIsOurs) throw new Terminal('The identity is the database user of the connector');
  if (facts.roleIsOurs) throw new Terminal('The database role is the database user of the connector');
  if (facts.identityObstructs && !config.allow_privileged_roles) {
    throw new Terminal(
      'The login could lock the connector out: it owns the database, or is a member of pg_signal_backend, pg_maintain ' +
        'or pg_use_reserved_connections; to permit this, set allow_privileged_roles for the provider',
    );
  }
  if (facts.reason !== null) refusePrivileged(facts.reason, config);
  if (!canWithholdSet(version) && !config.accept_objects_left_behind) {
    throw new Terminal(
      'Before PostgreSQL 16, a member can become the role and create objects that keep its access; ' +
        'to permit this, set accept_objects_left_behind for the provider',
    );
  }
}

/** Throws `Terminal`, which names the reason, unless the configuration permits privileged roles. */
export function refusePrivileged(reason: Reason, config: PostgresConfig): void {
  if (config.allow_privileged_roles) return;
  throw new Terminal(
    `The database role ${reasons[reason]}; to permit this, set allow_privileged_roles for the provider`,
  );
}
