import type { OverdueList, OverdueRevocation } from '@belay/contract/admin';
import { invalid, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { entitlements, grants, users } from '@belay/db';
import {
  and,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  ne,
  notExists,
  or,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { unionAll } from 'drizzle-orm/pg-core';
import { nameOf } from '../actor.js';
import type { ActorStore, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { requireAdministrator, requireOverseer } from '../people/oversight.js';
import { jobsOf } from './end.js';
import { requireReason } from './revoke.js';
import { isLive, isOver, overAt } from './wanted.js';

const endedAt = sql`least(${grants.endedAt}, ${overAt})`;

/**
 * Returns two queries of entitlements that should have been gone for longer than `timing.overdue`, each with the time
 * since when, and `isOverdue`, the condition for both: the row is not absent, has no live grant, and no grant that was
 * active ended within `timing.overdue`.
 *
 * `owed` has entitlements with a grant that ended and is not gone. The time is the end of the last grant that was
 * active: nothing was owed when an earlier grant ended that a later one extended, and a later grant that never became
 * active does not postpone the alarm. `back` has entitlements whose grants are gone, but whose revocation after the
 * quarantine fails (R5): a late grant call may have brought them back.
 */
export function overdueOf(ctx: Store) {
  const permitted = sql`app_now() - ${`${ctx.timing.overdue} milliseconds`}::interval`;
  const wasActive = isNotNull(grants.activatedAt);
  const since = sql<string>`coalesce(max(${endedAt}) filter (where ${wasActive}), min(${endedAt}))`;
  const owed = ctx.db
    .select({ id: grants.entitlementId, since: since.as('since') })
    .from(grants)
    .where(and(isNull(grants.goneAt), sql`${endedAt} < ${permitted}`))
    .groupBy(grants.entitlementId);
  const quiet = sql<string>`${entitlements.lastGrantCallAt} + ${`${ctx.timing.quarantine} milliseconds`}::interval`;
  const others = ctx.db
    .select({ one: sql`1` })
    .from(grants)
    .where(and(eq(grants.entitlementId, entitlements.id), isNull(grants.goneAt)));
  const back = ctx.db
    .select({ id: entitlements.id, since: quiet.as('since') })
    .from(entitlements)
    .where(
      and(
        // The same condition as in the index of failing entitlements.
        sql`${entitlements.state} <> 'absent' and ${entitlements.failures} > 0`,
        eq(entitlements.state, 'revoking'),
        sql`${quiet} < ${permitted}`,
        notExists(others),
      ),
    );
  const isOverdue = (id: SQLWrapper) => {
    const later = ctx.db
      .select({ one: sql`1` })
      .from(grants)
      .where(
        and(
          eq(grants.entitlementId, id),
          isNull(grants.goneAt),
          or(isLive, and(wasActive, sql`${endedAt} >= ${permitted}`)),
        ),
      );
    return and(ne(entitlements.state, 'absent'), notExists(later));
  };
  return { owed, back, isOverdue };
}

/**
 * Returns the revocations that are overdue, the oldest first, each with its last error, the time since when the access
 * should be gone, and the time of the next attempt (GET /admin/overdue). Throws `forbidden`, and `invalid` for a cursor
 * that is not of this list.
 */
export async function listOverdue(ctx: ActorStore, input: PageOf): Promise<OverdueList> {
  requireOverseer(ctx);
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  const { owed, back, isOverdue } = overdueOf(ctx);
  const over = unionAll(owed, back).as('over');
  const micros = sql<string>`(extract(epoch from ${over.since}) * 1000000)::bigint`;
  const rows = await ctx.db
    .select({ entitlement: entitlements, since: over.since, micros })
    .from(over)
    .innerJoin(entitlements, eq(entitlements.id, over.id))
    .where(and(isOverdue(over.id), after(input.cursor, micros)))
    .orderBy(micros, entitlements.id)
    .limit(limit + 1);
  const shown = rows.slice(0, limit);
  const owners = await readOwners(
    ctx,
    shown.map(({ entitlement }) => entitlement.id),
  );
  const last = shown.at(-1);
  return {
    revocations: shown.map(({ entitlement, since }) => describe(entitlement, since, owners)),
    next: rows.length > limit && last ? `${last.micros}.${last.entitlement.id}` : null,
  };
}

function after(cursor: string | undefined, micros: SQL): SQL | undefined {
  if (cursor === undefined) return undefined;
  const [, time, id] = /^(\d{1,17})\.(.+)$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined || !isId(id)) throw invalid('cursor', 'is not a cursor of this list');
  return sql`(${micros}, ${entitlements.id}) > (${time}::bigint, ${id}::uuid)`;
}

type Owner = { entitlementId: string; executionId: string; id: string; email: string; name: string };

async function readOwners(ctx: Store, ids: readonly string[]): Promise<Owner[]> {
  if (ids.length === 0) return [];
  return ctx.db
    .selectDistinct({
      entitlementId: grants.entitlementId,
      executionId: grants.executionId,
      id: users.id,
      email: users.email,
      name: users.name,
    })
    .from(grants)
    .innerJoin(users, eq(users.id, grants.userId))
    .where(and(inArray(grants.entitlementId, [...ids]), isNull(grants.goneAt), isOver));
}

function describe(row: typeof entitlements.$inferSelect, since: string, owners: readonly Owner[]): OverdueRevocation {
  const own = owners.filter(({ entitlementId }) => entitlementId === row.id);
  const people = new Map(own.map(({ id, email, name }) => [id, { id, email, name }]));
  return {
    id: row.id,
    provider: row.provider,
    identity: row.identity,
    access: row.access,
    users: [...people.values()],
    executions: [...new Set(own.map(({ executionId }) => executionId))],
    since: new Date(since).toISOString(),
    attempts: row.failures,
    // Requesters read the first part only (`last_error` of the execution).
    last_error: row.lastError && row.said ? `${row.lastError}: ${row.said}` : row.lastError,
    pending: row.pending,
    elsewhere: row.elsewhere,
    left_to_others: row.leftToOthers,
    next_try: row.dueAt.toISOString(),
  };
}

/**
 * Makes an overdue revocation due now (POST /admin/overdue/{id}/retry): administrators and operators only, audited. It
 * changes nothing else: a worker claims it like any other revocation, and the same rules apply (R1–R8). Repeating it is
 * safe. Throws `forbidden`, `invalid` for the reason, and `not_found` when no revocation is owed.
 */
export async function retryRevocation(
  ctx: ActorStore,
  input: { id: string; reason: string },
): Promise<{ status: 'ok'; message: string }> {
  requireAdministrator(ctx);
  const reason = requireReason(input.reason);
  if (!isId(input.id)) throw notFound('The revocation');
  const provider = await ctx.db.transaction(async (tx) => {
    const [owed] = await tx
      .select({ userId: grants.userId, executionId: grants.executionId })
      .from(grants)
      .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
      .where(
        and(
          eq(grants.entitlementId, input.id),
          isOver,
          or(isNull(grants.goneAt), and(eq(entitlements.state, 'revoking'), gt(entitlements.failures, 0))),
        ),
      )
      .orderBy(sql`${grants.goneAt} desc nulls first`, grants.id)
      .limit(1);
    // A running call continues, and an earlier due time stays.
    const [row] = owed
      ? await tx
          .update(entitlements)
          .set({ dueAt: sql`least(${entitlements.dueAt}, app_now())` })
          .where(and(eq(entitlements.id, input.id), ne(entitlements.state, 'absent')))
          .returning({ provider: entitlements.provider })
      : [];
    if (!owed || !row) throw notFound('The revocation');
    await appendLedger(tx, [
      {
        type: 'revocation.retried',
        message: `${nameOf(ctx.actor)} made a revocation at ${row.provider} due now: ${reason}`,
        actor: ctx.actor,
        userId: owed.userId,
        provider: row.provider,
        executionId: owed.executionId,
        entitlementId: input.id,
        data: { reason },
      },
    ]);
    return row.provider;
  });
  ctx.waker.wake(jobsOf([{ id: input.id, provider }]));
  return { status: 'ok', message: `The revocation at ${provider} is tried again now` };
}
