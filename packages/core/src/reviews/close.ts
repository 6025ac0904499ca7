import { AccessError, invalid, notFound } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { Review, ReviewClosing } from '@belay/contract/reviews';
import { reviews, type Transaction } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { requireFreshGroups, requireUser } from '../actor.js';
import { requireLive } from '../approvals/decide.js';
import { wouldBeElevated } from '../approvals/elevated.js';
import type { ActorStore, UserActor } from '../context.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { tellingJoins } from '../people/joins.js';
import { requireText } from '../text.js';
import { describeReview, ownAccess, readReviewer, readReviews, seesReview, whyNot } from './read.js';

/**
 * Closes the review of the use of a role for emergencies, with a verdict, a note and a ledger entry, in one transaction.
 * Throws `not_found` for callers who may not see the review, and `forbidden` for the requester, the person who was given the
 * access, and those who may only see it. Throws `conflict` when the review is closed or the access has not ended, `invalid`
 * for the note, and `unavailable` when a system cannot report whether it gave access to the caller.
 */
export async function closeReview(ctx: ActorStore, input: ReviewClosing): Promise<Review> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const note = requireText(input.note.trim(), 'note', limits.remark);
  if (note === '') throw invalid('note', 'is required');
  if (!isId(input.id)) throw notFound('The review');
  return tellingJoins(ctx, async () => {
    await refuseElevated(ctx, user, input.id);
    return retryDeadlock(() => ctx.db.transaction((tx) => close(ctx, tx, user, { ...input, note })));
  });
}

/**
 * Throws `forbidden` when the access was given to an identity that is the caller's own at its system, even under another
 * name, as for an approval. No system is called for callers who cannot close the review for another reason.
 */
async function refuseElevated(ctx: ActorStore, user: UserActor, id: string): Promise<void> {
  const [found] = await readReviews(ctx.db, { which: sql`r.id = ${id}::uuid`, order: sql`r.id`, limit: 1 });
  const reviewer = await readReviewer(ctx.db, user, found);
  if (!found || !seesReview(ctx, reviewer, found)) throw notFound('The review');
  const refusal = whyNot(ctx, reviewer, found);
  if (refusal) throw refusal;
  if (await wouldBeElevated(ctx, reviewer.selves, { grants: found.given }, { lenient: true })) throw ownAccess();
}

async function close(ctx: ActorStore, tx: Transaction, user: UserActor, input: ReviewClosing): Promise<Review> {
  const { id, verdict, note } = input;
  await requireLive(ctx, tx, user, 'api');
  // Access that becomes active under this review needs this lock too: it is visible below, or gets a review of its own.
  await tx.select({ id: reviews.id }).from(reviews).where(eq(reviews.id, id)).for('update');
  const read = async () => (await readReviews(tx, { which: sql`r.id = ${id}::uuid`, order: sql`r.id`, limit: 1 }))[0];
  const found = await read();
  const reviewer = await readReviewer(tx, user, found);
  if (!found || !seesReview(ctx, reviewer, found)) throw notFound('The review');
  const refusal = whyNot(ctx, reviewer, found);
  if (refusal) throw refusal;
  const [made] = await tx
    .update(reviews)
    .set({ closedAt: sql`app_now()`, closedBy: user.id, verdict, note })
    .where(and(eq(reviews.id, id), isNull(reviews.closedAt)))
    .returning({ id: reviews.id });
  const closed = await read();
  if (!made || !closed) throw new AccessError('conflict', 'The review has already been closed');
  await appendLedger(tx, [
    {
      type: 'review.closed',
      level: verdict === 'justified' ? 'info' : 'warning',
      message: `${user.email} reviewed the use of ${found.role} by ${found.owner.email}, and found it ${verdict === 'justified' ? 'justified' : 'not justified'}: ${note}`,
      actor: user,
      userId: found.ownerId,
      executionId: found.executionId,
      data: { review: id, verdict },
    },
  ]);
  return describeReview(ctx, reviewer, closed);
}
