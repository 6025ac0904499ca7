import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import {
  entitlements,
  executions,
  grants,
  loginCodes,
  logins,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { endByForce, lockExecution, retryDeadlock, writePrepared } from '@belay/engine';
import { and, asc, eq, exists, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import { endGrants } from '../access/end.js';
import { isLive } from '../access/wanted.js';
import { nameOf } from '../actor.js';
import type { ActorStore, Hint } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { isKnownAs } from '../people/people.js';
import { requireText } from '../text.js';

export interface StopUser {
  /** E-mail address. */
  user: string;
  reason: string;
}

export interface StoppedUser {
  message: string;
  /** How many browsers and devices were signed in. */
  logins: number;
  tokens: number;
  /** The executions that were still running. */
  requests: string[];
  /** The executions that had ended and still held access. */
  access: string[];
}

/** The people with an address, and every name that a provider knows them by, in lower case. */
interface Known {
  /** The person's name here, for messages. */
  email: string;
  ids: string[];
  names: string[];
}

/** Others may be signing out or getting access at this moment, with the same rows. */
const attempts = 5;

/**
 * Ends everything that a person has here, in one transaction (`belay user stop`): logins, tokens, open requests and
 * access, including those of colleagues for one of their addresses. Operators only, with a reason, audited. Decisions
 * of the person stay, and the person can sign in again if their provider lets them. Throws `forbidden`, `invalid` or
 * `not_found`.
 */
export async function stopUser(ctx: ActorStore, input: StopUser): Promise<StoppedUser> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators stop people');
  const reason = requireText(input.reason.trim(), 'reason', limits.operatorReason);
  if (reason.length === 0) throw invalid('reason', 'is required');
  const address = requireText(input.user.trim(), 'user', 320);
  const { hints, ...stopped } = await retryDeadlock(
    () => ctx.db.transaction((tx) => stop(ctx, tx, address, reason)),
    attempts,
  );
  ctx.crashpoint('stopped');
  ctx.waker.wake(hints);
  return stopped;
}

async function stop(
  ctx: ActorStore,
  tx: Transaction,
  address: string,
  reason: string,
): Promise<StoppedUser & { hints: Hint[] }> {
  const { actor } = ctx;
  const known = await lockPeople(tx, address);
  if (known.ids.length === 0) throw notFound(`A person with the address ${address}`);
  const ended = await endLogins(tx, known.ids);
  // What they said by a button in a message counts no more either, until they sign in again.
  await tx
    .update(userIdentities)
    .set({ toldAt: new Date(0) })
    .where(inArray(userIdentities.userId, known.ids));
  const hints: Hint[] = [];
  const requests = await lockOpen(tx, known);
  const access = (await lockHeld(tx, known)).filter(({ id }) => !requests.includes(id));
  for (const id of requests) hints.push(...(await terminate(ctx, tx, id)));
  for (const { id, entitlementIds } of access) {
    hints.push(...(await endGrants(tx, { executionId: id, reason: 'revoked', actor, entitlementIds })));
  }
  const tokens = ended.filter(({ kind }) => kind === 'token').length;
  const counts = { logins: ended.length - tokens, tokens, requests, access: access.map(({ id }) => id) };
  await appendLedger(tx, [
    ...known.ids.map((userId) => ({
      type: 'user.stopped',
      level: 'warning' as const,
      message: `An operator stopped ${known.email}: ${reason}`,
      actor,
      userId,
      data: { reason, ...counts },
    })),
    ...ended.map((login) => ({
      type: login.kind === 'token' ? 'token.revoked' : 'login.ended',
      message: `An operator ended a ${login.kind === 'token' ? 'token' : 'login'} of ${known.email}`,
      actor,
      userId: login.userId,
      provider: login.provider,
      data: { login_id: login.id, kind: login.kind, label: login.label },
    })),
  ]);
  const message = `${known.email} is stopped: ended ${ended.length} logins and tokens, ${requests.length} open requests and the access of ${access.length} earlier requests`;
  return { message, ...counts, hints };
}

/**
 * Locks the person's rows before anything of theirs is read: a request or a sign-in of theirs has ended by then, or
 * starts when this has ended (`requireLive`).
 */
async function lockPeople(tx: Transaction, address: string): Promise<Known> {
  const locked = await tx
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(isKnownAs(tx, users.id, address))
    .orderBy(asc(users.id))
    .for('no key update');
  const ids = locked.map(({ id }) => id);
  const email = locked[0]?.email ?? address;
  if (ids.length === 0) return { email, ids, names: [] };
  const identities = await tx.select().from(userIdentities).where(inArray(userIdentities.userId, ids));
  const names = identities.flatMap(({ email, subject }) => [email.toLowerCase(), subject.toLowerCase()]);
  return { email, ids, names: [...new Set(names)] };
}

/**
 * Deletes every login, with what belongs to it, and searches again: one that was just exchanged for another has a
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

/** Returns the running executions of these people, or for one of their names, locked. */
async function lockOpen(tx: Transaction, { ids, names }: Known): Promise<string[]> {
  const named = sql`exists (select from jsonb_array_elements_text(${executions.input} -> 'identities') as asked
    where lower(asked) in ${names})`;
  const rows = await tx
    .select({ id: executions.id })
    .from(executions)
    .where(and(isNull(executions.endedAt), or(inArray(executions.ownerId, ids), named)))
    .orderBy(asc(executions.id))
    .for('update');
  return rows.map(({ id }) => id);
}

/** Returns the executions that have ended, or belong to others, and hold access for these people, locked. */
async function lockHeld(tx: Transaction, { ids, names }: Known): Promise<{ id: string; entitlementIds: string[] }[]> {
  const theirs = or(inArray(grants.userId, ids), sql`lower(${entitlements.identity}) in ${names}`);
  const held = (id: SQL | typeof executions.id) =>
    tx
      .select({ entitlementId: grants.entitlementId })
      .from(grants)
      .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
      .where(and(eq(grants.executionId, id), isLive, theirs));
  const rows = await tx
    .select({ id: executions.id })
    .from(executions)
    .where(exists(held(executions.id)))
    .orderBy(asc(executions.id))
    .for('update');
  const found: { id: string; entitlementIds: string[] }[] = [];
  for (const { id } of rows) {
    const entitlementIds = (await held(sql`${id}`)).map(({ entitlementId }) => entitlementId);
    if (entitlementIds.length > 0) found.push({ id, entitlementIds });
  }
  return found;
}

/**
 * Terminates an execution as `terminateExecution` does, in this transaction: no further task runs, and its grants end.
 */
async function terminate(ctx: ActorStore, tx: Transaction, id: string): Promise<Hint[]> {
  const execution = await lockExecution(tx, id);
  if (!execution) return [];
  const move = endByForce(execution, { actor: ctx.actor, name: nameOf(ctx.actor) });
  await writePrepared(ctx, tx, move, { locked: true });
  return move.hints;
}
