import type { Access, Obstacle, Weakness } from '../port.js';
import { type Reason, reasons, selectBuilders } from './builders.js';
import { membership, type PostgresConfig, quoteName } from './config.js';
import type { Statements } from './database.js';
import { canWithholdSet, readVersion } from './membership.js';

/** A database role that the configuration offers, as the connector's own user sees it at the server. */
interface Offered {
  name: string;
  me: string;
  exists: boolean;
  /** Only a superuser may grant a superuser. */
  superuser: boolean;
  mayGrant: boolean;
  reason: Reason | null;
}

/** Returns the accesses whose grant the server (42501) or this connector would reject, each with its cure. */
export async function findObstacles(
  sql: Statements,
  accesses: readonly Access[],
  config: PostgresConfig,
): Promise<Obstacle[]> {
  const wanted = new Map(accesses.map((access) => [membership.parse(access).role, access]));
  const version = await readVersion(sql);
  // From 16 on CREATEROLE alone grants nothing, and the admin option counts through roles whose privileges are inherited.
  const administers = canWithholdSet(version)
    ? sql`exists (
        select from pg_catalog.pg_auth_members m
        where m.roleid = r.oid and m.admin_option and pg_catalog.pg_has_role(me.oid, m.member, 'USAGE'))`
    : sql`(me.rolcreaterole or pg_catalog.pg_has_role(me.oid, r.oid, 'MEMBER WITH ADMIN OPTION'))`;
  // `privileged` is read once for all roles, because it reads the privileges on every table.
  const offered = await sql<Offered[]>`
    with recursive wanted as (
      select w.name, r.oid, coalesce(r.rolsuper, false) as superuser
      from pg_catalog.jsonb_array_elements_text(${JSON.stringify([...wanted.keys()])}::text::jsonb) as w (name)
      left join pg_catalog.pg_roles r on r.rolname::text = w.name
    ),
    reach (root, id) as (
      select oid, oid from wanted where oid is not null
      union
      select reach.root, m.roleid from pg_catalog.pg_auth_members m join reach on m.member = reach.id
    ),
    privileged (root, reason) as (
      select reach.root, min(b.reason) from (${selectBuilders(sql)}) b join reach using (id) group by reach.root
    )
    select r.name, me.rolname::text as me, r.oid is not null as exists, r.superuser,
      coalesce(me.rolsuper or (not r.superuser and ${administers}), false) as "mayGrant",
      privileged.reason
    from wanted r cross join pg_catalog.pg_roles me left join privileged on privileged.root = r.oid
    where me.rolname = current_user`;
  return offered.flatMap((one) => {
    const access = wanted.get(one.name);
    const found = describe(one, config, version);
    return access === undefined || found === undefined ? [] : [{ access, ...found }];
  });
}

function describe(
  { name, me, exists, superuser, mayGrant, reason }: Offered,
  config: PostgresConfig,
  version: number,
): Weakness | undefined {
  if (!canWithholdSet(version) && !config.accept_objects_left_behind) {
    return {
      message: `nothing is granted on PostgreSQL ${Math.floor(version / 10_000)}, where a member can become the role`,
      cure: 'upgrade it to 16 or newer, or set accept_objects_left_behind for the provider',
    };
  }
  if (!exists) {
    return { message: `the database role ${name} does not exist`, cure: `create role ${quoteName(name)}` };
  }
  if (reason !== null && !config.allow_privileged_roles) {
    return {
      message: `the database role ${name} ${reasons[reason]}, so it is not granted`,
      cure: 'offer a role without that, or set allow_privileged_roles for the provider',
    };
  }
  if (superuser && !mayGrant) {
    return { message: `only a superuser may grant ${name}`, cure: 'offer a role that is no superuser' };
  }
  if (mayGrant) return undefined;
  const options = canWithholdSet(version) ? 'admin true, inherit false, set false' : 'admin option';
  return {
    message: `${me} may not grant the database role ${name}`,
    cure: `grant ${quoteName(name)} to ${quoteName(me)} with ${options}`,
  };
}
