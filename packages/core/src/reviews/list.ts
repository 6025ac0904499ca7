import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import type { ReviewFilter, ReviewList } from '@belay/contract/reviews';
import { executions, sqlText } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { addressNaming } from '../people/names.js';
import { seesEveryRequest } from '../people/oversight.js';
import { familyOf } from '../request-family.js';
import { describeReview, type Reviewer, readReviewer, readReviews } from './read.js';

const ofStatus: Record<NonNullable<ReviewFilter['status']>, SQL> = {
  open: sql`r.closed_at is null`,
  overdue: sql`r.closed_at is null and r.due_at < app_now()`,
  closed: sql`r.closed_at is not null`,
  all: sql`true`,
};

/**
 * Returns the reviews of emergencies that the caller may see (GET /reviews): all of them for administrators and auditors,
 * for others those that they closed or that name them as a reviewer, without those of their own requests. Throws `invalid`
 * for a text that is not a cursor of this list.
 */
export async function listReviews(ctx: ActorStore, input: ReviewFilter & PageOf): Promise<ReviewList> {
  const reviewer = await readReviewer(ctx.db, requireUser(ctx));
  const { execution_id: id, cursor, status = id === undefined ? 'open' : 'all' } = input;
  if (id !== undefined && !isId(id)) return { reviews: [], next: null };
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  const oldest = status === 'open' || status === 'overdue';
  const found = await readReviews(ctx.db, {
    which: sql.join(
      [
        ofStatus[status],
        ...(seesEveryRequest(ctx, reviewer.user) ? [] : [isConcerned(reviewer)]),
        ...(id === undefined ? [] : [sql`r.execution_id in ${familyOf(sqlText`${id}::uuid`)}`]),
        ...(cursor === undefined ? [] : [after(cursor, oldest)]),
      ],
      sql` and `,
    ),
    order: oldest ? sql`r.opened_at, r.id` : sql`r.opened_at desc, r.id desc`,
    // One more than is shown tells whether there are more.
    limit: limit + 1,
  });
  const reviews = found.slice(0, limit).map((one) => describeReview(ctx, reviewer, one));
  const last = reviews.at(-1);
  return { reviews, next: found.length > limit && last ? `${Date.parse(last.opened_at)}.${last.id}` : null };
}

/** Matches the reviews that `seesReview` shows to a reviewer or to the closer, without those of their own requests. */
function isConcerned({ user, selves }: Reviewer): SQL {
  const own = listOf(selves.map((self) => self.id));
  return sql`(r.closed_by = ${user.id}::uuid or (
    (r.rule -> 'users' ? ${addressNaming(user)} or r.rule -> 'groups' ?| ${listOf(user.groups)})
    and not exists (select from ${executions} asked where asked.id = r.execution_id and asked.owner_id::text = any(${own}))))`;
}

function listOf(texts: readonly string[]): SQL {
  return sql`array(select jsonb_array_elements_text(${JSON.stringify([...new Set(texts)])}::text::jsonb))`;
}

function after(cursor: string, oldest: boolean): SQL {
  const [time = '', id = '', ...more] = cursor.split('.');
  if (!/^\d{1,14}$/.test(time) || !isId(id) || more.length > 0) throw invalid('cursor', 'is not a cursor of this list');
  const place = sql`(to_timestamp(${time}::bigint / 1000.0), ${id}::uuid)`;
  return oldest ? sql`(r.opened_at, r.id) > ${place}` : sql`(r.opened_at, r.id) < ${place}`;
}
