import type { AccessFilter, HeldAccess, HeldAccessList } from '@belay/contract/admin';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { entitlements, executions, grants, users } from '@belay/db';
import { and, asc, eq, ne, type SQL, sql } from 'drizzle-orm';
import type { ActorStore, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { findKnown, isAccessOf, type Known } from '../people/known.js';
import { requireOverseer } from '../people/oversight.js';
import { expiryOf, isLive, overAt } from './wanted.js';

/**
 * Returns the access that people hold now or are being granted, in the order of its end (GET /admin/access). The cost
 * does not depend on the amount of past access. Throws `forbidden`, and `invalid` for a cursor that is not of this list.
 */
export async function listAllAccess(ctx: ActorStore, input: AccessFilter & PageOf): Promise<HeldAccessList> {
  requireOverseer(ctx);
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  const known = input.user === undefined ? undefined : await findKnown(ctx, ctx.db, input.user.trim());
  const found = await readHeld(ctx, and(...matching(input, known), after(input.cursor)), limit + 1);
  const last = found[limit - 1];
  return {
    access: found.slice(0, limit).map(({ held }) => held),
    next: found.length > limit && last ? `${last.micros}.${last.held.id}` : null,
  };
}

/** Returns at most `limit` items of the access of a person, including access that colleagues requested for them. */
export async function listAccessOf(ctx: Store, known: Known, limit: number): Promise<HeldAccess[]> {
  return (await readHeld(ctx, isAccessOf(known), limit)).map(({ held }) => held);
}

/** Returns the conditions of the fields that a filter has, for rows of grants, entitlements and executions. */
export function matching({ provider, role }: AccessFilter, known: Known | undefined): (SQL | undefined)[] {
  return [
    known && isAccessOf(known),
    provider === undefined ? undefined : eq(entitlements.provider, provider),
    role === undefined ? undefined : sql`${executions.input} ->> 'role' = ${role}`,
  ];
}

const micros = sql<string>`(extract(epoch from ${overAt}) * 1000000)::bigint`;

function after(cursor: string | undefined): SQL | undefined {
  if (cursor === undefined) return undefined;
  const [, time, id] = /^(\d{1,17})\.(.+)$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined || !isId(id)) throw invalid('cursor', 'is not a cursor of this list');
  return sql`(${micros}, ${grants.id}) > (${time}::bigint, ${id}::uuid)`;
}

async function readHeld(
  ctx: Store,
  which: SQL | undefined,
  limit: number,
): Promise<{ held: HeldAccess; micros: string }[]> {
  const rows = await ctx.db
    .select({
      grant: grants,
      entitlement: entitlements,
      role: sql<string>`${executions.input} ->> 'role'`,
      breakGlass: sql<boolean>`${executions.input} ? 'break_glass'`,
      user: { id: users.id, email: users.email, name: users.name },
      micros,
    })
    .from(entitlements)
    .innerJoin(grants, eq(grants.entitlementId, entitlements.id))
    .innerJoin(executions, eq(executions.id, grants.executionId))
    .innerJoin(users, eq(users.id, grants.userId))
    .where(and(ne(entitlements.state, 'absent'), isLive, which))
    .orderBy(asc(micros), asc(grants.id))
    .limit(limit);
  return rows.map(({ grant, entitlement, role, breakGlass, user, micros }) => ({
    micros,
    held: {
      id: grant.id,
      execution_id: grant.executionId,
      user,
      role,
      provider: entitlement.provider,
      identity: grant.identity,
      access: grant.access,
      state: grant.activatedAt ? 'active' : 'granting',
      granted_at: grant.activatedAt?.toISOString() ?? null,
      expires_at: expiryOf(grant),
      break_glass: breakGlass,
    },
  }));
}
