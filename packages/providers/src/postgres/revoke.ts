import { LeftToOthers, Retryable } from '../errors.js';
import type { ConnectorTools, Entitlement } from '../port.js';
import type { PostgresConfig } from './config.js';
import { type Database, untilSettled } from './database.js';
import { isBlocked } from './faults.js';
import { findLeftovers } from './leftovers.js';
import { readVersion, revokeMembership } from './membership.js';
import { findSubject, type Subject } from './pin.js';
import { endBorrowers, endSessions } from './sessions.js';

export interface Revoker {
  /** Revokes a membership and ends the sessions that could still use it (the port's `ensureAbsent`). */
  revoke(entitlement: Entitlement, signal: AbortSignal): Promise<void>;
}

/**
 * A membership that was read back as absent, and whose earlier sessions have all ended. Kept in memory only; losing it
 * is safe.
 */
interface Absence {
  /**
   * Identifies the latest grant call of the entitlement; another value means that a grant was called since, possibly by
   * another process.
   */
  generation: string;
  /** The role and the user of the membership, by their numbers. */
  subject: string;
  /** The server's time: sessions that started later cannot have used the membership. */
  since: string;
  /** Whether others granted the membership at that time. */
  others: boolean;
}

/** How long each attempt waits for a lock that a session of the holder may keep, in milliseconds. */
const lockMilliseconds = 1_000;
/** How often one call tries to revoke the membership; between the attempts it ends sessions. */
const mostRounds = 4;
/** The largest number of ended memberships that are remembered. Repeated revocations of others end all sessions again. */
const mostRemembered = 10_000;

/** By the id of the entitlement. */
export type Absences = Map<string, Absence>;

export function createRevoker(
  config: PostgresConfig,
  database: Database,
  { tools, absences }: { tools: ConnectorTools; absences: Absences },
): Revoker {
  const takeAway = (entitlement: Entitlement, signal: AbortSignal) =>
    untilSettled(signal, () =>
      database.transaction(
        signal,
        async (sql) => {
          const subject = await findSubject(sql, entitlement);
          return { subject, ...(await revokeMembership(sql, subject, await readVersion(sql))) };
        },
        lockMilliseconds,
      ),
    );

  /**
   * Revokes the membership. When that is blocked, a session of the holder can be the cause, so their sessions are ended
   * before the next attempt.
   */
  async function takeAwayByForce(entitlement: Entitlement, signal: AbortSignal) {
    for (let round = 1; ; round++) {
      try {
        return await takeAway(entitlement, signal);
      } catch (error) {
        if (!isBlocked(error) || round === mostRounds) throw error;
      }
      await end(await database.read(signal, (sql) => findSubject(sql, entitlement)), null, signal);
    }
  }

  async function end(subject: Subject, since: string | null, signal: AbortSignal): Promise<string> {
    const { role, identity } = subject;
    const { count, at } = await endSessions(database, { identity: identity.id, role: role.id, since }, signal);
    if (count > 0) {
      tools.log('sessions were terminated together with a membership', {
        role: role.name,
        identity: identity.name,
        sessions: count,
      });
    }
    return at;
  }

  async function endLoans({ role, identity }: Subject, since: string | null, at: string, signal: AbortSignal) {
    const holders = { identity: identity.id, role: role.id, since };
    const count = await endBorrowers(database, holders, at, signal);
    if (count > 0) {
      tools.log('transactions of other sessions were rolled back together with a membership', {
        role: role.name,
        sessions: count,
      });
    }
  }

  return {
    async revoke(entitlement, signal) {
      const taken = await takeAwayByForce(entitlement, signal).catch((error: unknown) => {
        // The call may have revoked the membership although its response was lost.
        absences.delete(entitlement.id);
        throw error;
      });
      const { subject, revoked, failure, others } = taken;
      const of = `${subject.role.id}/${subject.identity.id}`;
      if (revoked > 0 || failure) absences.delete(entitlement.id);
      // Sessions end even if nothing was left to revoke: an earlier call, in any process, may have stopped before that step.
      const known = absences.get(entitlement.id);
      const { generation } = entitlement;
      // While others grant the membership too, sessions that begin are theirs to allow. When they have revoked it, all have to end.
      const isSame = known?.subject === of && known.generation === generation && (!known.others || others.length > 0);
      const since = isSame ? known.since : null;
      const at = await end(subject, since, signal);
      if (failure) throw failure;
      await endLoans(subject, since, at, signal);
      if (generation !== undefined && since === null) {
        remember(absences, entitlement.id, { generation, subject: of, since: at, others: others.length > 0 });
      }
      const left = await database.read(signal, (sql) => findLeftovers(sql, subject, config));
      if (left !== null) throw new Retryable(left);
      if (others.length > 0) {
        throw new LeftToOthers(`The membership is also granted by ${others.join(', ')}, which Belay does not revoke`);
      }
    },
  };
}

function remember(absences: Absences, key: string, absence: Absence): void {
  const [oldest] = absences.keys();
  if (absences.size >= mostRemembered && oldest !== undefined) absences.delete(oldest);
  absences.set(key, absence);
}
