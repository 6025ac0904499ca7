import {
  type EndedReason,
  entitlements,
  executions,
  grants,
  loginCodes,
  logins,
  type Transaction,
  userIdentities,
} from '@belay/db';
import { and, asc, eq, exists, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import { endGrants } from '../access/end.js';
import { terminating } from '../access/revoke.js';
import { isLive } from '../access/wanted.js';
import type { Actor, ActorStore, Job } from '../context.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { isAccessOf, isRequestOf, type Known } from '../people/known.js';

export interface EndedPeople {
  ended: (typeof logins.$inferSelect)[];
  /** The executions that were still running. */
  requests: string[];
  /** The executions that had ended, or belong to others, and still held access. */
  access: string[];
  jobs: Job[];
}

/**
 * Ends the logins, tokens, open requests and access of people. Call it in a transaction that locked the rows of the people before
 * it read anything else of theirs. Decisions stay as they were made.
 */
export async function endPeople(
  ctx: ActorStore,
  tx: Transaction,
  known: Known,
  by: { name: string; reason: Extract<EndedReason, 'revoked' | 'deprovisioned'> },
): Promise<EndedPeople> {
  const { actor } = ctx;
  const ended = await endLogins(tx, known.ids);
  // Buttons in messages are rejected too, until these people sign in again.
  await tx
    .update(userIdentities)
    .set({ toldAt: new Date(0) })
    .where(inArray(userIdentities.userId, known.ids));
  const jobs: Job[] = [];
  const requests = await lockOpen(tx, known);
  const access = (await lockHeld(tx, known)).filter(({ id }) => !requests.some((request) => request.id === id));
  for (const { id } of requests) {
    // `terminating` ends the grants that are left, with its own reason.
    if (by.reason === 'deprovisioned')
      jobs.push(...(await endGrants(tx, { executionId: id, reason: by.reason, actor })));
    jobs.push(...((await terminating(ctx, tx, id, by.name)) ?? []));
  }
  for (const { id, entitlementIds } of access) {
    jobs.push(...(await endGrants(tx, { executionId: id, reason: by.reason, actor, entitlementIds })));
  }
  await appendLedger(tx, [
    ...explain(known, by.name, actor, [...requests, ...access]),
    ...ended.map(
      (login): LedgerEntry => ({
        type: login.kind === 'token' ? 'token.revoked' : 'login.ended',
        message: `${by.name} ended a ${login.kind === 'token' ? 'token' : 'login'} of ${known.email}`,
        actor,
        userId: login.userId,
        provider: login.provider,
        data: { login_id: login.id, kind: login.kind, label: login.label },
      }),
    ),
  ]);
  return { ended, requests: requests.map(({ id }) => id), access: access.map(({ id }) => id), jobs };
}

/** Returns the entries that tell requesters why their requests and access for these people have ended. */
function explain(known: Known, name: string, actor: Actor, all: readonly Found[]): LedgerEntry[] {
  return all
    .filter(({ ownerId }) => !known.ids.includes(ownerId))
    .map(({ id, ownerId, accounts }) => ({
      type: 'access.revoked',
      level: 'warning',
      message: `${name} ended the access of ${known.email}, which includes this: ${whose(accounts)}, by its addresses and sign-ins at the system or by the configuration`,
      actor,
      userId: ownerId,
      executionId: id,
      data: { accounts },
    }));
}

/**
 * Deletes every login and every login code. Repeats this until no login is found, because a login that was just exchanged has a
 * successor.
 */
async function endLogins(tx: Transaction, ids: readonly string[]): Promise<(typeof logins.$inferSelect)[]> {
  await tx.delete(loginCodes).where(inArray(loginCodes.userId, [...ids]));
  const ended: (typeof logins.$inferSelect)[] = [];
  for (;;) {
    const gone = await tx
      .delete(logins)
      .where(inArray(logins.userId, [...ids]))
      .returning();
    if (gone.length === 0) return ended;
    ended.push(...gone);
  }
}

function whose(accounts: readonly string[]): string {
  const [account, ...others] = accounts;
  if (account === undefined) return 'the account of the requester is theirs';
  return others.length === 0
    ? `the account ${account} is theirs`
    : `one of the accounts ${accounts.join(', ')} is theirs`;
}

/** An execution, and the accounts by which it was found. */
interface Found {
  id: string;
  ownerId: string;
  accounts: string[];
}

/** Locks and returns the running executions of these people, or for one of their addresses or accounts. */
async function lockOpen(tx: Transaction, known: Known): Promise<Found[]> {
  return tx
    .select({
      id: executions.id,
      ownerId: executions.ownerId,
      accounts: sql<string[]>`coalesce(${executions.input} -> 'identities', '[]')`,
    })
    .from(executions)
    .where(and(isNull(executions.endedAt), isRequestOf(known)))
    .orderBy(asc(executions.id))
    .for('update');
}

/** Locks and returns the executions that have ended, or belong to others, and hold access for these people. */
async function lockHeld(tx: Transaction, known: Known): Promise<(Found & { entitlementIds: string[] })[]> {
  const held = (id: SQL | typeof executions.id) =>
    tx
      .select({ entitlementId: grants.entitlementId, account: grants.identity })
      .from(grants)
      .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
      .where(and(eq(grants.executionId, id), isLive, isAccessOf(known)));
  const rows = await tx
    .select({ id: executions.id, ownerId: executions.ownerId })
    .from(executions)
    .where(exists(held(executions.id)))
    .orderBy(asc(executions.id))
    .for('update');
  const found: (Found & { entitlementIds: string[] })[] = [];
  for (const row of rows) {
    const theirs = await held(sql`${row.id}`);
    const entitlementIds = theirs.map(({ entitlementId }) => entitlementId);
    const accounts = [...new Set(theirs.map(({ account }) => account))];
    if (entitlementIds.length > 0) found.push({ ...row, accounts, entitlementIds });
  }
  return found;
}
