import type { Comment, CommentKind, NewComment } from '@belay/contract/comments';
import { AccessError, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { approvals, comments, decisions, executions, type Transaction } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { eq, sql } from 'drizzle-orm';
import { requireFreshGroups, requireUser } from '../actor.js';
import { requireLive } from '../approvals/decide.js';
import type { ActorStore, UserActor } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { noticeComment } from '../messages/queue.js';
import { requireText } from '../text.js';
import { type Conversation, findConversation, hasOpenQuestion, kindsFor } from './conversation.js';
import { toComment } from './list.js';

const verbs: Record<CommentKind, string> = { comment: 'commented', question: 'asked', answer: 'answered' };
const window = 60_000;

/**
 * Writes a comment, a question or an answer about a request, with its ledger entry, in one transaction. It decides
 * nothing, and nothing waits for it. Throws `invalid` for the text, `not_found` for callers who may not see the
 * request, `forbidden` for those who may only read it and for a kind that the other side writes, `conflict` after the
 * end of the request, for an answer without an open question and beyond the limit for one request, and
 * `too_many_requests` beyond the limit for a minute.
 */
export async function addComment(ctx: ActorStore, input: NewComment): Promise<Comment> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const text = requireText(input.text, 'text', limits.remark).trim();
  if (text === '') throw invalid('text', 'must not be empty');
  const { executionId } = await findConversation(ctx, ctx.db, input.id);
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      // Locked before the author's row, as decisions lock them. This lock does not block the turns of the execution.
      await tx.select({ id: executions.id }).from(executions).where(eq(executions.id, executionId)).for('key share');
      // Locks the author's row, so that their comments are counted one after the other.
      await requireLive(ctx, tx, user, 'api');
      const conversation = await findConversation(ctx, tx, executionId);
      const kind = await requireKind(tx, conversation, input.kind);
      await requireQuota(tx, user, executionId);
      return write(ctx, tx, { user, conversation, kind, text });
    }),
  );
}

async function requireKind(
  tx: Transaction,
  { executionId, ended, side }: Conversation,
  wanted: CommentKind | undefined,
): Promise<CommentKind> {
  if (side === null) {
    throw new AccessError('forbidden', 'Only the requester and the approvers of a request can comment on it');
  }
  if (ended) throw new AccessError('conflict', 'The request has ended: its comments can only be read');
  const question = await hasOpenQuestion(tx, executionId);
  const kind = wanted ?? (side === 'requester' && question ? 'answer' : 'comment');
  if (kindsFor(side, { ended, question }).includes(kind)) return kind;
  if (kind === 'question') throw new AccessError('forbidden', 'Only approvers can write a question');
  if (side === 'approver') throw new AccessError('forbidden', 'Only the requester can answer a question');
  throw new AccessError('conflict', 'No question waits for an answer');
}

/**
 * Throws `too_many_requests` for a person who has written too much within a minute, and `conflict` for one who has written too much on this
 * request.
 */
async function requireQuota(tx: Transaction, user: UserActor, executionId: string): Promise<void> {
  const [counts] = await tx.execute<{ lately: number; here: number }>(sql`
    select
      (select count(*)::int from ${comments} where ${comments.authorId} = ${user.id}
        and ${comments.createdAt} > app_now() - ${`${window} milliseconds`}::interval) as lately,
      (select count(*)::int from ${comments} where ${comments.executionId} = ${executionId}
        and ${comments.authorId} = ${user.id}) as here`);
  if ((counts?.here ?? 0) >= limits.comments) {
    throw new AccessError(
      'conflict',
      `You have written ${limits.comments} comments on this request, which is the limit`,
    );
  }
  if ((counts?.lately ?? 0) < limits.commentsPerMinute) return;
  throw new AccessError(
    'too_many_requests',
    `You have written ${limits.commentsPerMinute} comments within a minute, which is the limit`,
    { retryAfter: window / 1_000 },
  );
}

async function write(
  ctx: ActorStore,
  tx: Transaction,
  entry: { user: UserActor; conversation: Conversation; kind: CommentKind; text: string },
): Promise<Comment> {
  const { user, conversation, kind, text } = entry;
  const { executionId, ownerId } = conversation;
  const id = ctx.newId();
  const [made] = await tx
    .insert(comments)
    .values({ id, executionId, authorId: user.id, kind, text })
    .returning({ createdAt: comments.createdAt });
  if (!made) throw new Error('A comment could not be stored');
  await appendLedger(tx, [
    {
      type: `comment.${kind === 'comment' ? 'added' : kind}`,
      message: `${user.email} ${verbs[kind]}: ${text}`,
      actor: user,
      userId: ownerId,
      executionId,
      data: { comment: id },
    },
  ]);
  const to = await listOthers(tx, user, conversation);
  if (to.length > 0) await noticeComment(tx, { commentId: id, executionId, authorId: user.id, to });
  return toComment({ id, kind, text, author: { email: user.email, name: user.name }, createdAt: made.createdAt });
}

/**
 * Returns the users who are told of a comment: of an approver's, the requester; of the requester's, the others who have
 * commented, and the approvers who have decided. Approvers who have done neither find the comment in their inbox.
 */
async function listOthers(tx: Transaction, user: UserActor, { executionId, ownerId, side }: Conversation) {
  if (side === 'approver') return [ownerId];
  const rows = await tx.execute<{ id: string }>(sql`
    select ${comments.authorId} as id from ${comments} where ${comments.executionId} = ${executionId} and ${comments.kind} <> 'answer'
    union
    select ${decisions.approverId} from ${decisions} join ${approvals} on ${approvals.id} = ${decisions.approvalId}
      where ${approvals.executionId} = ${executionId}`);
  return rows.map(({ id }) => id).filter((id) => id !== user.id);
}
