import { Retryable, type Terminal } from '../errors.js';
import { quoteName } from './config.js';
import type { Statements } from './database.js';
import { Overtaken, toPortError } from './faults.js';
import { isStillNamed, type Subject } from './pin.js';

/** The first version whose memberships have options. */
const modern = 160_000;

/** One grant of a membership. From version 16 on each grantor has a row of its own; before, there is one row. */
export interface Membership {
  grantor: string | null;
  /**
   * Whether the connector's own user granted it. When that user is a superuser, version 16 and newer record the
   * bootstrap superuser as the grantor.
   */
  ours: boolean;
  /**
   * Whether it has the options of this connector: the member has the role's privileges, but can neither become the role
   * nor grant it to others. Version 15 cannot prevent a member from becoming the role.
   */
  asWanted: boolean;
}

export async function readVersion(sql: Statements): Promise<number> {
  const [row] = await sql<[{ version: number }]>`
    select pg_catalog.current_setting('server_version_num')::int as version`;
  return row.version;
}

/** Returns whether a member can be prevented from becoming the role (`with set false`). */
export function canWithholdSet(version: number): boolean {
  return version >= modern;
}

/** Returns every grant that makes the identity a direct member of the role. */
export async function readMemberships(sql: Statements, { role, identity }: Subject): Promise<Membership[]> {
  // Read as JSON, because version 15 has no columns for the options; there, every member may become the role.
  return sql<Membership[]>`
    select g.rolname::text as grantor,
      coalesce(m.grantor = me.oid or (me.rolsuper and m.grantor = 10), false) as ours,
      not m.admin_option
        and coalesce((o.options->>'inherit_option')::bool, true)
        and not coalesce((o.options->>'set_option')::bool, false) as "asWanted"
    from pg_catalog.pg_auth_members m
    cross join lateral (select pg_catalog.to_jsonb(m) as options) o
    left join pg_catalog.pg_roles g on g.oid = m.grantor
    join pg_catalog.pg_roles me on me.rolname = current_user
    where m.roleid = ${role.id}::int8::oid and m.member = ${identity.id}::int8::oid`;
}

/**
 * Makes the identity a member of the role with this connector's options, and corrects a membership with other options.
 * Throws `Retryable` when a rename led the statement to another role; the caller must roll the transaction back then.
 */
export async function grantMembership(sql: Statements, subject: Subject, version: number): Promise<void> {
  // Before version 16 a membership has one grantor, and a second grant changes nothing.
  const given = (all: readonly Membership[]) =>
    all.some(({ asWanted, ours }) => asWanted && (ours || !canWithholdSet(version)));
  const before = await readMemberships(sql, subject);
  if (given(before) && before.every((one) => one.asWanted || !one.ours)) return;
  const options = canWithholdSet(version) ? ' with admin false, inherit true, set false' : '';
  await sql.unsafe(
    `grant ${quoteName(subject.role.name ?? '')} to ${quoteName(subject.identity.name ?? '')}${options}`,
  );
  const after = await readMemberships(sql, subject);
  if (!given(after) || !(await isStillNamed(sql, subject))) throw renamed();
}

/**
 * Revokes what the connector's own user granted. A membership that another role granted is not Belay's: it stays, and
 * `others` says whose it is. Returns the number of revoked grants and the first permanent error, if any. Throws a temporary
 * error, also `Retryable` when a rename led a statement to another role or the membership was granted again; the caller must
 * roll the transaction back then.
 */
export async function revokeMembership(
  sql: Statements,
  subject: Subject,
  version: number,
): Promise<{ revoked: number; failure: Retryable | Terminal | undefined; others: string[] }> {
  const before = await readMemberships(sql, subject);
  const own = before.filter(({ ours }) => ours);
  const { role, identity } = subject;
  if (own.length === 0 || role.name === null || identity.name === null)
    return { revoked: 0, failure: undefined, others: othersOf(before) };
  let failure: Retryable | Terminal | undefined;
  for (const { grantor } of own) {
    const by = canWithholdSet(version) && grantor !== null ? ` granted by ${quoteName(grantor)}` : '';
    const statement = `revoke ${quoteName(role.name)} from ${quoteName(identity.name)}${by}`;
    try {
      await sql.savepoint((one) => one.unsafe(statement));
    } catch (error) {
      const fault = toPortError(error);
      // A transient error is retried with everything else.
      if (fault instanceof Retryable) throw error;
      if (!(await isStillNamed(sql, subject))) throw renamed();
      failure ??= fault;
    }
  }
  if (!(await isStillNamed(sql, subject))) throw renamed();
  const after = await readMemberships(sql, subject);
  const left = after.filter(({ ours }) => ours).length;
  if (left > 0 && !failure) throw new Overtaken('The membership was granted again while it was revoked');
  return { revoked: own.length - left, failure, others: othersOf(after) };
}

/** Returns who else granted the membership. */
function othersOf(memberships: readonly Membership[]): string[] {
  return memberships
    .filter(({ ours }) => !ours)
    .map(({ grantor }) => grantor ?? 'a role that no longer exists')
    .sort();
}

function renamed(): Overtaken {
  return new Overtaken('The database role or the login was renamed during the call');
}
