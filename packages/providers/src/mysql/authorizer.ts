import { compareCounters } from '../counters.js';
import { Retryable, Terminal } from '../errors.js';
import type { Trust } from '../history.js';
import type { Authorizer, ConnectorTools, Entitlement, ProviderRole } from '../port.js';
import { trustSettled } from '../trust-settled.js';
import { findPinned, findSubject, markOf, readTarget, type Subject } from './accounts.js';
import type { MysqlConfig } from './config.js';
import type { Database, Statements } from './database.js';
import { readSighting, trustingDatabase, writeMark } from './history.js';
import { listEntitlements } from './lists.js';
import { grantRole, readAdministered, readMembers, removeMark, revokeRole } from './memberships.js';
import { findReason, refuse } from './rights.js';
import { endSessions, readHolders, readProxies } from './sessions.js';
import { requirePrivileges, requireSight } from './setup.js';

/** The largest number of ended grants that are remembered. For a forgotten one, a repeated revocation ends all sessions again. */
const mostRemembered = 10_000;

/** A revocation after which the sessions up to the number `newest` have ended. Kept in memory only; losing it is safe. */
interface Absence {
  generation: string;
  /** The role and the account that were pinned. */
  subject: string;
  newest: number;
}

/** Creates the port's `Authorizer`, which grants and revokes roles of the server. */
export function createAuthorizer(config: MysqlConfig, database: Database, tools: ConnectorTools): Authorizer {
  const absences = new Map<string, Absence>();
  const open = (trust: Trust) => openAuthorizer(config, trustingDatabase(database, trust), { tools, absences });
  return {
    ...open(trustSettled),
    history: {
      compare: compareCounters,
      trusting: open,
      mark: (decide, signal) =>
        database.use(signal, async (sql) => {
          const mark = await decide(() => readSighting(sql));
          return mark !== null && (await writeMark(sql, mark));
        }),
    },
  };
}

/** `absences`: by the id of the entitlement. */
function openAuthorizer(
  config: MysqlConfig,
  database: Database,
  { tools, absences }: { tools: ConnectorTools; absences: Map<string, Absence> },
): Authorizer {
  async function end(
    entitlement: Entitlement,
    subject: Subject,
    revoked: number | 'failed',
    signal: AbortSignal,
  ): Promise<void> {
    const { generation, id } = entitlement;
    const of = JSON.stringify([subject.role, subject.named]);
    if (revoked !== 0) absences.delete(id);
    const known = absences.get(id);
    const newest = known?.subject === of && known.generation === generation ? known.newest : null;
    const holders = await database.use(signal, (sql) => readHolders(sql, subject, newest));
    const ended = await endSessions(database, holders, signal);
    if (ended.count > 0) {
      tools.log('connections were ended together with a role', { role: subject.role, connections: ended.count });
    }
    // A role that is still granted can be set in later sessions too, which keep it when an administrator revokes it.
    if (generation === undefined || newest !== null || revoked === 'failed') return;
    const [oldest] = absences.keys();
    if (absences.size >= mostRemembered && oldest !== undefined) absences.delete(oldest);
    absences.set(id, { generation, subject: of, newest: ended.newest });
  }

  return {
    // Privileges are checked at each statement, and the account's connections, which may have set the role, are ended.
    residual: 'PT0S',
    knows: true,
    neverLate: true,
    ...describeLeftBehind(config),

    target: (signal) => database.use(signal, readTarget),
    pin: (named, signal) =>
      database.use(signal, async (sql) => {
        const subject = await findPinned(sql, named);
        return subject && { target: await readTarget(sql), subject };
      }),

    standBy: (signal) => database.standBy(signal),
    standDown: () => database.standDown(),

    holds: (entitlement, signal) =>
      database.use(signal, async (sql) => {
        return (await readMembers(sql, await findSubject(sql, entitlement))).length > 0;
      }),

    ensurePresent: (entitlement, _until, signal) => database.use(signal, (sql) => grant(sql, config, entitlement)),

    async ensureAbsent(entitlement, signal) {
      const taken = await database
        .use(signal, async (sql) => {
          const subject = await findSubject(sql, entitlement);
          // Even when the revocation fails, the account's connections are ended.
          const failure = await revokeRole(sql, subject).catch((error: unknown) => ({ error }));
          return { subject, failure };
        })
        .catch((error: unknown) => {
          // The call may have revoked the role although its response was lost.
          absences.delete(entitlement.id);
          throw error;
        });
      const { subject, failure } = taken;
      await end(entitlement, subject, typeof failure === 'number' ? failure : 'failed', signal);
      await database.use(signal, async (sql) => {
        if (typeof failure !== 'number') throw failure.error;
        await reportLeftovers(sql, subject);
        // The mark is removed last, because a renamed account is found by its mark.
        await removeMark(sql, subject, markOf(entitlement.id, subject.role));
      });
    },

    async *list(signal) {
      yield* await database.use(signal, (sql) => listEntitlements(sql, config));
    },
    roles: (signal) => database.use(signal, (sql) => listRoles(sql, config)),
    // Privileges are not granted one by one here (see planGrants), so no permission can be requested.
    permissions: async () => [],
  };
}

async function grant(sql: Statements, config: MysqlConfig, entitlement: Entitlement): Promise<void> {
  const subject = await findSubject(sql, entitlement);
  const [account] = subject.accounts;
  if (!subject.roleExists || !account) throw new Terminal('The role or the account does not exist');
  if (!subject.isMarked && !subject.isSame) {
    throw new Terminal(
      'The account was replaced, or its password was set, since the access was requested: request it again',
    );
  }
  await requireSight(sql);
  await requirePrivileges(sql);
  await refuse(sql, config, subject, account);
  if ((await readProxies(sql, [account.user])).length > 0) {
    throw new Terminal(
      'Another user may act as the account (GRANT PROXY), with connections that the server does not distinguish',
    );
  }
  // Leftovers are checked only for a new grant: the revocation finds what is created while the access is held.
  if ((await readMembers(sql, subject)).length === 0) {
    const left = await findLeftovers(sql, subject);
    if (left !== null) throw new Terminal(left);
  }
  await grantRole(sql, entitlement.id, subject, account);
}

/** Throws `Retryable` while a proxy or an object remains through which the access could still be used. */
async function reportLeftovers(sql: Statements, subject: Subject): Promise<void> {
  await requireSight(sql);
  const proxies = await readProxies(sql, [subject.named.user, ...subject.accounts.map(({ user }) => user)]);
  if (proxies.length > 0) {
    throw new Retryable('Another user may act as the account (GRANT PROXY): an administrator has to revoke that');
  }
  const left = await findLeftovers(sql, subject);
  if (left !== null) throw new Retryable(left);
}

/** Lists the roles that the connector may grant, without those that would be rejected. */
async function listRoles(sql: Statements, config: MysqlConfig): Promise<ProviderRole[]> {
  const roles: ProviderRole[] = [];
  for (const role of await readAdministered(sql)) {
    if (!config.allow_privileged_roles && (await findReason(sql, role)) !== null) continue;
    roles.push({ name: role, arn: `mysql:role/${encodeURIComponent(role)}`, description: '' });
  }
  return roles;
}

/** Returns a description of what a revocation does not remove, which depends on the provider's configuration. */
function describeLeftBehind(config: MysqlConfig): { leavesBehind?: string } {
  const sentences = [
    config.accept_objects_left_behind &&
      'An account that can create tables, views or routines can keep the access of a role in them after it ends.',
    config.allow_privileged_roles &&
      'With a privileged role, the holder can create objects or grant privileges that remain after the access ends.',
  ].filter((one) => one !== false);
  return sentences.length > 0 ? { leavesBehind: sentences.join(' ') } : {};
}

/** The largest number of remaining objects that an error names. */
const mostNamed = 5;

/**
 * Returns a sentence about the views and routines that run with the role's privileges (DEFINER = CURRENT_ROLE, MariaDB), or null
 * when there are none. A grant is rejected when such objects exist, so a revocation finds only those created since the grant.
 */
async function findLeftovers(sql: Statements, { role }: Subject): Promise<string | null> {
  const rows = await sql.rows<{ name: string }>(
    `select concat('the view ', table_schema, '.', table_name) as name from information_schema.views
     where definer in (?)
     union select concat('the routine ', db, '.', name) from routines where definer in (?) order by name`,
    [definersOf(role), definersOf(role)],
  );
  if (rows.length === 0) return null;
  const names = rows.slice(0, mostNamed).map(({ name }) => name);
  const more = rows.length > mostNamed ? ` and ${rows.length - mostNamed} more` : '';
  return `The database still has objects that run with the privileges of the role: ${names.join(', ')}${more}`;
}

/** Returns the two forms in which the server lists a role as a definer: without a host, and in some lists with @ and no host. */
function definersOf(role: string): string[] {
  return [role, `${role}@`];
}
