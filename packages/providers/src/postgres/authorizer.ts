import { Terminal } from '../errors.js';
import type { Trust } from '../history.js';
import type { Authorizer, ConnectorTools, Entitlement } from '../port.js';
import { trustSettled } from '../trust-settled.js';
import type { PostgresConfig } from './config.js';
import { type Database, type Statements, untilSettled } from './database.js';
import { findReasonElsewhere } from './elsewhere.js';
import { readFacts, refuse, refusePrivileged } from './facts.js';
import { comparePositions, readSighting, trustingDatabase, writeMark } from './history.js';
import { findLeftovers } from './leftovers.js';
import { listMemberships, listRoles } from './lists.js';
import { grantMembership, readMemberships, readVersion } from './membership.js';
import { findPin, findSubject, readTarget, serverOf } from './pin.js';
import { type Absences, createRevoker } from './revoke.js';
import { warmUp } from './sessions.js';

/** Creates the port's `Authorizer`, which grants and revokes direct membership of database roles. */
export function createAuthorizer(config: PostgresConfig, database: Database, tools: ConnectorTools): Authorizer {
  const absences: Absences = new Map();
  const open = (trust: Trust) => openAuthorizer(config, trustingDatabase(database, trust), { tools, absences });
  return {
    ...open(trustSettled),
    history: {
      compare: comparePositions,
      trusting: open,
      mark: (decide, signal) =>
        database.transaction(signal, async (sql) => {
          const mark = await decide(() => readSighting(sql));
          return mark !== null && (await writeMark(sql, mark));
        }),
    },
  };
}

function openAuthorizer(
  config: PostgresConfig,
  database: Database,
  shared: { tools: ConnectorTools; absences: Absences },
): Authorizer {
  const revoker = createRevoker(config, database, shared);
  return {
    // Privileges are checked in the catalog at each statement, and sessions that could bypass that are ended.
    residual: 'PT0S',
    knows: true,
    // A statement is committed before the server reports it, and a read shows what was committed.
    neverLate: true,
    ...describeLeftBehind(config),

    target: (signal) => database.read(signal, readTarget),
    realm: serverOf,

    pin: (named, signal) => database.read(signal, (sql) => findPin(sql, named)),

    standBy: (signal) => database.standBy(signal, warmUp),
    standDown: () => database.standDown(),

    holds: (entitlement, signal) =>
      database.read(signal, async (sql) => {
        return (await readMemberships(sql, await findSubject(sql, entitlement))).length > 0;
      }),

    async ensurePresent(entitlement, _until, signal) {
      await untilSettled(signal, () =>
        database.transaction(signal, (sql) => grant(sql, { config, database, signal }, entitlement)),
      );
    },

    ensureAbsent: (entitlement, signal) => revoker.revoke(entitlement, signal),

    async *list(signal) {
      yield* await database.transaction(signal, listMemberships);
    },

    roles: (signal) => database.transaction(signal, (sql) => listRoles(sql, config)),

    // Privileges are not granted one by one here (see planMemberships), so no permission can be requested.
    permissions: async () => [],
  };
}

async function grant(
  sql: Statements,
  { config, database, signal }: { config: PostgresConfig; database: Database; signal: AbortSignal },
  entitlement: Entitlement,
): Promise<void> {
  const subject = await findSubject(sql, entitlement);
  if (subject.role.name === null || subject.identity.name === null) {
    throw new Terminal('The database role or the login role does not exist');
  }
  const version = await readVersion(sql);
  const facts = await readFacts(sql, subject);
  refuse(facts, config, version);
  if (!config.allow_privileged_roles) {
    const reason = await findReasonElsewhere(database, facts, subject, signal);
    if (reason !== null) refusePrivileged(reason, config);
  }
  // Leftovers are checked only for a new membership: the revocation finds what is created while the access is held.
  if ((await readMemberships(sql, subject)).length === 0) {
    const left = await findLeftovers(sql, subject, config);
    if (left !== null) throw new Terminal(left);
  }
  await grantMembership(sql, subject, version);
}

/** Returns a description of what a revocation does not remove, which depends on the provider's configuration. */
function describeLeftBehind(config: PostgresConfig): { leavesBehind?: string } {
  const sentences = [
    config.accept_objects_left_behind &&
      'Before PostgreSQL 16, the holder can create objects that keep the access of the database role after it ends.',
    config.allow_privileged_roles &&
      'With a privileged database role, the holder can create objects or grant privileges that remain after the access ends.',
  ].filter((one) => one !== false);
  return sentences.length > 0 ? { leavesBehind: sentences.join(' ') } : {};
}
