import { Terminal } from '../errors.js';
import type { Authorizer, ConnectorTools, EntitlementRef } from '../port.js';
import { isPossibleName, membership, type PostgresConfig, quoteName } from './config.js';
import type { Database } from './database.js';
import { type Facts, readFacts, readMembership } from './facts.js';
import { listMemberships, listRoles } from './lists.js';
import { readSubject, readTarget } from './pin.js';
import { endSessions, lockMembership, revokeMembership } from './revoke.js';

/** Grants and takes away direct membership of database roles (the port's `Authorizer`). */
export function createAuthorizer(config: PostgresConfig, database: Database, tools: ConnectorTools): Authorizer {
  return {
    // Privileges are checked in the catalog at each statement, and the sessions that could go around that are ended.
    residual: 'PT0S',
    knows: true,

    target: (signal) => database.transaction(signal, readTarget),

    async pin(entitlement, signal) {
      const { role, identity } = read(entitlement);
      if (!isPossibleName(role) || !isPossibleName(identity)) return null;
      return database.transaction(signal, async (sql) => {
        const subject = await readSubject(sql, role, identity);
        return subject && { target: await readTarget(sql), subject };
      });
    },

    async holds(entitlement, signal) {
      const { role, identity } = read(entitlement);
      if (!isPossibleName(role) || !isPossibleName(identity)) return false;
      return database.transaction(signal, (sql) => readMembership(sql, role, identity));
    },

    async ensurePresent(entitlement, _until, signal) {
      const { role, identity } = read(entitlement);
      if (!isPossibleName(role)) throw new Terminal('The database role does not exist');
      if (!isPossibleName(identity)) throw new Terminal('The database has no such login role');
      await database.transaction(signal, async (sql) => {
        await lockMembership(sql, role, identity);
        const facts = await readFacts(sql, role, identity);
        refuse(facts, config);
        if (!facts.held) await sql.unsafe(`grant ${quoteName(role)} to ${quoteName(identity)}`);
      });
    },

    async ensureAbsent(entitlement, signal) {
      const { role, identity } = read(entitlement);
      if (!isPossibleName(role) || !isPossibleName(identity)) return;
      const failure = await database.transaction(signal, async (sql) => {
        await lockMembership(sql, role, identity);
        return revokeMembership(sql, role, identity);
      });
      // Also when nothing was left to revoke: an earlier call may have stopped between the two steps, and a session
      // that did `set role` before it would go on.
      const sessions = await endSessions(database, identity, signal);
      if (sessions > 0) tools.log('Sessions ended with a membership', { role, identity, sessions });
      if (failure) throw failure;
    },

    async *list(signal) {
      yield* await database.transaction(signal, listMemberships);
    },

    roles: (signal) => database.transaction(signal, (sql) => listRoles(sql, config)),

    // Privileges are not granted one by one here (see planMemberships), so there is none that could be asked for.
    permissions: async () => [],
  };
}

function read(entitlement: EntitlementRef): { role: string; identity: string } {
  const access = membership.safeParse(entitlement.access);
  if (!access.success) throw new Terminal('The access is not membership of a database role');
  return { role: access.data.role, identity: entitlement.identity };
}

function refuse(facts: Facts, config: PostgresConfig): void {
  if (!facts.roleExists) throw new Terminal('The database role does not exist');
  if (!facts.identityExists) throw new Terminal('The database has no such login role');
  if (!facts.identityCanLogin) throw new Terminal('The identity is a group of the database, not a login role');
  if (facts.identityIsOurs) throw new Terminal('The identity is the one that the connector itself uses');
  if (facts.rolePrivileged && !config.allow_privileged_roles) {
    throw new Terminal(
      'The database role can change other roles, hand access on or act outside the database; ' +
        'the provider has to say allow_privileged_roles for that',
    );
  }
}
