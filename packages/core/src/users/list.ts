import type { KnownPerson, PeopleList } from '@belay/contract/admin';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { logins, userIdentities, users } from '@belay/db';
import { and, asc, eq, gt, ilike, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { ActorStore, Store } from '../context.js';
import { isId } from '../find-execution.js';
import { hasAddressLike } from '../people/known.js';
import { requireOverseer } from '../people/oversight.js';
import { requireText } from '../text.js';

/**
 * Returns the people who have signed in or have a token, by address, with how many logins and tokens they have (GET
 * /admin/people). `q` is part of a name or an address. Throws `forbidden`, and `invalid` for a cursor that is not of
 * this list.
 */
export async function listPeople(ctx: ActorStore, input: PageOf & { q?: string | undefined }): Promise<PeopleList> {
  requireOverseer(ctx);
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  const people = await readPeople(ctx, and(search(ctx, input.q), await after(ctx, input.cursor)), limit + 1);
  return {
    people: people.slice(0, limit),
    next: people.length > limit ? (people[limit - 1]?.id ?? null) : null,
  };
}

/** Returns people as the interface shows them, in the order of their addresses. */
export async function readPeople(ctx: Store, which: SQL | undefined, limit: number): Promise<KnownPerson[]> {
  const rows = await ctx.db.select().from(users).where(which).orderBy(asc(users.email), asc(users.id)).limit(limit);
  const ids = rows.map(({ id }) => id);
  const counted = await ctx.db
    .select({
      id: logins.userId,
      tokens: sql<number>`(count(*) filter (where ${logins.kind} = 'token'))::int`,
      all: sql<number>`count(*)::int`,
    })
    .from(logins)
    .where(and(inArray(logins.userId, ids), gt(logins.expiresAt, sql`app_now()`)))
    .groupBy(logins.userId);
  return rows.map((user) => {
    const { tokens, all } = counted.find(({ id }) => id === user.id) ?? { tokens: 0, all: 0 };
    return {
      id: user.id,
      email: user.email,
      name: user.name,
      provider: user.provider,
      groups: user.groups,
      created_at: user.createdAt.toISOString(),
      deactivated: user.deprovisionedAt !== null,
      logins: all - tokens,
      tokens,
    };
  });
}

function search(ctx: Store, q: string | undefined): SQL | undefined {
  const words = q?.trim() ?? '';
  if (words === '') return undefined;
  const pattern = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`;
  const name = pattern(requireText(words, 'q', limits.name));
  const named = ctx.db
    .select({ id: userIdentities.userId })
    .from(userIdentities)
    .where(ilike(userIdentities.name, name));
  return or(ilike(users.name, name), inArray(users.id, named), hasAddressLike(ctx.db, users.id, words));
}

async function after(ctx: Store, cursor: string | undefined): Promise<SQL | undefined> {
  if (cursor === undefined) return undefined;
  const [row] = isId(cursor)
    ? await ctx.db.select({ id: users.id, email: users.email }).from(users).where(eq(users.id, cursor))
    : [];
  if (!row) throw invalid('cursor', 'is not a cursor of this list');
  return sql`(${users.email}, ${users.id}) > (${row.email}, ${row.id}::uuid)`;
}
