import type { AccessFilter, Revoked } from '@belay/contract/admin';
import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { entitlements, executions, grants, type Transaction, users } from '@belay/db';
import { endByForce, lockExecution, retryDeadlock, writePrepared } from '@belay/engine';
import { and, eq, inArray, isNull, ne, type SQL, sql } from 'drizzle-orm';
import { nameOf } from '../actor.js';
import type { ActorStore, Job } from '../context.js';
import { findExecution } from '../find-execution.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { findKnown, isRequestOf, type Known } from '../people/known.js';
import { requireAdministrator } from '../people/oversight.js';
import { listFamily } from '../request-family.js';
import { requireText } from '../text.js';
import { endGrants } from './end.js';
import { endHeld } from './end-held.js';
import { matching } from './list-all.js';
import { isLive } from './wanted.js';

export interface RevokeAccess extends AccessFilter {
  /** The access of one request, and of all requests that it extends or that extend it. */
  execution_id?: string | undefined;
  reason: string;
  /** Also terminate matching requests that have not ended. */
  end_requests?: boolean | undefined;
}

/** The maximum number of executions that one call ends, so that a call takes only seconds. */
const most = 200;
/** How often a call searches again for access that was granted meanwhile. */
const looks = 10;

/**
 * Ends access of people immediately: of a person, at a provider, of a role, or of one request; administrators and
 * operators only, with a reason, audited. The provider is called as for every early end. Searches again until no
 * matching access is found, or a limit is reached (`more`): access that is granted after that belongs to an execution
 * in `open`, or to one that was requested later. Repeating it is safe. Throws `forbidden`, `invalid`, and `not_found`
 * for an unknown person or execution.
 */
export async function revokeAccess(ctx: ActorStore, input: RevokeAccess): Promise<Revoked> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  const known = await requireKnown(ctx, input);
  const revoked = new Set<string>();
  const ended = new Set<string>();
  for (let look = 1; ; look += 1) {
    const found = await findMatching(ctx, input, known);
    const due = found.filter(({ holds, open }) => holds || (open && input.end_requests === true));
    const room = most - new Set([...revoked, ...ended]).size;
    if (due.length === 0 || room <= 0 || look > looks) {
      const open = found.flatMap(({ id, open }) => (open ? [id] : []));
      return describe({ revoked, ended, open, more: due.length > 0 });
    }
    for (const one of due.slice(0, room)) {
      const done = await revokeOne(ctx, one, { reason, terminate: input.end_requests === true });
      if (done.revoked) revoked.add(one.id);
      if (done.ended) ended.add(one.id);
    }
  }
}

/** Returns the reason of an act on other people. Throws `invalid` when it is empty or too long. */
export function requireReason(given: string): string {
  const reason = requireText(given.trim(), 'reason', limits.operatorReason);
  if (reason.length === 0) throw invalid('reason', 'is required');
  return reason;
}

/** Returns the person whom a revocation names. */
async function requireKnown(ctx: ActorStore, input: RevokeAccess): Promise<Known | undefined> {
  const { execution_id: id, user, provider, role } = input;
  if ([id, user, provider, role].every((given) => given === undefined)) {
    throw invalid('user', 'must name a person, a provider, a role or an execution');
  }
  if (id !== undefined) await findExecution(ctx, ctx.actor, id);
  if (user === undefined) return undefined;
  const known = await findKnown(ctx, ctx.db, requireText(user.trim(), 'user', 320));
  // A colleague may have requested access for a person who never signed in.
  if (known.ids.length > 0 || (await findMatching(ctx, { user, reason: '' }, known)).length > 0) return known;
  throw notFound(`A person with the address ${user.trim()}`);
}

function describe({
  revoked,
  ended,
  open,
  more,
}: {
  revoked: Set<string>;
  ended: Set<string>;
  open: string[];
  more: boolean;
}): Revoked {
  const done = revoked.size === 0 ? 'No access is held' : `The access of ${revoked.size} request(s) is being revoked`;
  const left = more ? '; more is left, revoke again' : '';
  // The workflow of a request whose access was just revoked ends within seconds, by itself.
  const others = open.filter((id) => !revoked.has(id));
  const waiting = others.length === 0 ? '' : `; ${others.length} open request(s) can still be granted access`;
  return {
    status: 'ok',
    message: `${done}${left}${waiting}`,
    revoked: [...revoked],
    ended: [...ended],
    open,
    more,
  };
}

interface Matching {
  id: string;
  ownerId: string;
  email: string;
  open: boolean;
  holds: boolean;
  /** The matching entitlements that the execution holds. */
  entitlementIds: string[];
}

/** Returns the executions that hold matching access, or have not ended and may still be granted some, in one statement. */
async function findMatching(ctx: ActorStore, filter: RevokeAccess, known: Known | undefined): Promise<Matching[]> {
  const { execution_id: id, provider, role } = filter;
  // Extensions hold the same access, and would keep it.
  const one = id === undefined ? undefined : inArray(executions.id, await listFamily(ctx.db, id));
  const held = ctx.db
    .select({
      id: executions.id,
      entitlementId: sql<string | null>`${entitlements.id}`.as('entitlement_id'),
      open: sql<boolean>`${executions.endedAt} is null`.as('open'),
    })
    .from(entitlements)
    .innerJoin(grants, eq(grants.entitlementId, entitlements.id))
    .innerJoin(executions, eq(executions.id, grants.executionId))
    .where(and(ne(entitlements.state, 'absent'), isLive, one, ...matching(filter, known)));
  const asks: (SQL | undefined)[] = [
    one,
    known && isRequestOf(known),
    provider === undefined ? undefined : sql`jsonb_exists(${executions.input} -> 'providers', ${provider})`,
    role === undefined ? undefined : sql`${executions.input} ->> 'role' = ${role}`,
  ];
  const open = ctx.db
    .select({
      id: executions.id,
      entitlementId: sql<string | null>`null::uuid`.as('entitlement_id'),
      open: sql<boolean>`true`.as('open'),
    })
    .from(executions)
    .where(and(isNull(executions.endedAt), ...asks));
  const found = held.unionAll(open).as('found');
  const rows = await ctx.db
    .select({
      id: found.id,
      ownerId: users.id,
      email: users.email,
      open: sql<boolean>`bool_or(${found.open})`,
      entitlementIds: sql<
        string[]
      >`coalesce(json_agg(${found.entitlementId}) filter (where ${found.entitlementId} is not null), '[]')`,
    })
    .from(found)
    .innerJoin(executions, eq(executions.id, found.id))
    .innerJoin(users, eq(users.id, executions.ownerId))
    .groupBy(found.id, users.id)
    .orderBy(found.id);
  return rows.map((row) => ({ ...row, holds: row.entitlementIds.length > 0 }));
}

async function revokeOne(
  ctx: ActorStore,
  { id, ownerId, email, open, holds, entitlementIds }: Matching,
  { reason, terminate }: { reason: string; terminate: boolean },
): Promise<{ revoked: boolean; ended: boolean }> {
  const entry: LedgerEntry = {
    type: 'access.revoked',
    level: 'warning',
    message: `${nameOf(ctx.actor)} revoked the access of ${email}: ${reason}`,
    actor: ctx.actor,
    userId: ownerId,
    executionId: id,
    data: { reason },
  };
  if (terminate && open) return endWhole(ctx, id, entry);
  if (!holds) return { revoked: false, ended: false };
  const revoked = await endHeld(ctx, { id }, { reason: 'revoked', entry, entitlementIds }).then(
    () => true,
    (error: unknown) => {
      // The access has ended since the search.
      if (error instanceof AccessError && error.code === 'conflict') return false;
      throw error;
    },
  );
  return { revoked, ended: false };
}

/** Ends the request with its access, in one transaction. */
async function endWhole(
  ctx: ActorStore,
  id: string,
  entry: LedgerEntry,
): Promise<{ revoked: boolean; ended: boolean }> {
  const done = await retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      await tx.select({ id: executions.id }).from(executions).where(eq(executions.id, id)).for('update');
      // First, so that the access ends with this reason.
      const due = await endGrants(tx, { executionId: id, reason: 'revoked', actor: ctx.actor });
      const jobs: Job[] | null = await terminating(ctx, tx, id);
      if (due.length > 0 || jobs) await appendLedger(tx, [entry]);
      return { jobs: [...due, ...(jobs ?? [])], revoked: due.length > 0, ended: jobs !== null };
    }),
  );
  ctx.waker.wake(done.jobs);
  return done;
}

/**
 * Ends an execution by force in the caller's transaction: no further task runs, and its grants end. Returns the jobs
 * for workers; null, and writes nothing, when it has already ended.
 */
export async function terminating(
  ctx: ActorStore,
  tx: Transaction,
  id: string,
  name = nameOf(ctx.actor),
): Promise<Job[] | null> {
  const execution = await lockExecution(tx, id);
  if (!execution) return null;
  const move = endByForce(execution, { actor: ctx.actor, name });
  await writePrepared(ctx, tx, move, { locked: true });
  return move.jobs;
}
