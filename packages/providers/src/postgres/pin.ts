import { z } from 'zod';
import { OtherTarget, Terminal } from '../errors.js';
import type { Entitlement, Named as NamedAccess, Pin } from '../port.js';
import { isPossibleName, membership } from './config.js';
import type { Statements } from './database.js';

const oid = z.int().min(1).max(0xffff_ffff);

/** The parts of a membership, by identifiers that a rename does not change. */
const pinned = z.strictObject({ role: oid, identity: oid });

/** A role of the server: its oid, and its current name, or null when it does not exist. */
export interface Named {
  id: number;
  name: string | null;
}

export interface Subject {
  role: Named;
  identity: Named;
}

/** Returns the fingerprint of the database: the server's system identifier and the database's own oid. */
export async function readTarget(sql: Statements): Promise<string> {
  const [row] = await sql<[{ target: string }]>`
    select c.system_identifier::text || '/' || d.oid::text as target
    from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database()`;
  return row.target;
}

/** Returns the server's part of a fingerprint: roles and their members belong to the server, whichever database is connected to. */
export function serverOf(target: string): string {
  return target.split('/', 1)[0] ?? target;
}

/** Returns the role and the identity of an entitlement, at the pinned target alone (throws `OtherTarget` elsewhere). */
export async function findSubject(sql: Statements, { pin }: Entitlement): Promise<Subject> {
  const ids = pinned.safeParse(pin.subject);
  if (!ids.success) throw new Terminal('The stored identifiers are not those of a database role and its member');
  const { role, identity } = ids.data;
  const [row] = await sql<[{ target: string; role: string | null; identity: string | null }]>`
    select c.system_identifier::text || '/' || d.oid::text as target,
      (select rolname::text from pg_catalog.pg_roles where oid = ${role}::int8::oid) as role,
      (select rolname::text from pg_catalog.pg_roles where oid = ${identity}::int8::oid) as identity
    from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    where d.datname = pg_catalog.current_database()`;
  if (row.target !== pin.target) throw new OtherTarget();
  return { role: { id: role, name: row.role }, identity: { id: identity, name: row.identity } };
}

/** Returns whether both names still belong to the same roles: a rename in between leads a statement to another role. */
export async function isStillNamed(sql: Statements, { role, identity }: Subject): Promise<boolean> {
  const [row] = await sql<[{ same: boolean }]>`
    select count(*) = 2 as same from pg_catalog.pg_roles
    where (oid = ${role.id}::int8::oid and rolname = ${role.name}::text)
       or (oid = ${identity.id}::int8::oid and rolname = ${identity.name}::text)`;
  return row.same;
}

/**
 * Returns the pin of the roles with these names, or null when there are none. Compares them as text: as `name`, the server would
 * truncate a long one and find another. Throws `Terminal` when the access does not belong to this connector.
 */
export async function findPin(sql: Statements, { identity, access }: NamedAccess): Promise<Pin | null> {
  const named = membership.safeParse(access);
  if (!named.success) throw new Terminal('The access is not a membership of a database role');
  const { role } = named.data;
  if (!isPossibleName(role) || !isPossibleName(identity)) return null;
  const [subject] = await sql<{ role: number; identity: number }[]>`
    select r.oid::int8::float8 as role, i.oid::int8::float8 as identity
    from pg_catalog.pg_roles r, pg_catalog.pg_roles i
    where r.rolname = ${role}::text and i.rolname = ${identity}::text`;
  return subject
    ? { target: await readTarget(sql), subject: { role: subject.role, identity: subject.identity } }
    : null;
}
