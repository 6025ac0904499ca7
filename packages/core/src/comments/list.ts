import type { Comment, CommentList } from '@belay/contract/comments';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { comments, users } from '@belay/db';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { isId } from '../find-execution.js';
import { findConversation, hasOpenQuestion, kindsFor, shownComment } from './conversation.js';

/**
 * Returns the comments on a request, oldest first, and what the caller may write. Throws `not_found` for callers who
 * may not see the request, and `invalid` for a text that is not a cursor of this list.
 */
export async function listComments(ctx: ActorStore, input: PageOf & { id: string }): Promise<CommentList> {
  const { executionId, ended, side } = await findConversation(ctx, ctx.db, input.id);
  const limit = Math.min(input.limit ?? limits.page, limits.page);
  const after = input.cursor === undefined ? undefined : placeOf(input.cursor);
  const [rows, question] = await Promise.all([
    ctx.db
      .select(shownComment)
      .from(comments)
      .innerJoin(users, eq(users.id, comments.authorId))
      .where(
        and(
          eq(comments.executionId, executionId),
          after && sql`(${comments.createdAt}, ${comments.id}) > (${after.at}, ${after.id}::uuid)`,
        ),
      )
      .orderBy(asc(comments.createdAt), asc(comments.id))
      // One more row than is shown tells whether there are more.
      .limit(limit + 1),
    hasOpenQuestion(ctx.db, executionId),
  ]);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    comments: shown.map(toComment),
    next: rows.length > limit && last ? `${last.createdAt.getTime()}.${last.id}` : null,
    open_question: question,
    may: kindsFor(side, { ended, question }),
  };
}

export function toComment({ createdAt, ...shown }: Omit<Comment, 'created_at'> & { createdAt: Date }): Comment {
  return { ...shown, created_at: createdAt.toISOString() };
}

function placeOf(cursor: string) {
  const [time = '', id = '', ...more] = cursor.split('.');
  const known = /^\d{1,14}$/.test(time) && isId(id) && more.length === 0;
  if (!known) throw invalid('cursor', 'is not a cursor of this list');
  return { at: sql`to_timestamp(${time}::bigint / 1000.0)`, id };
}
