import { isNamed } from '@belay/contract/audience';
import type { CommentKind } from '@belay/contract/comments';
import { notFound } from '@belay/contract/errors';
import { approvals, comments, type Database, decisions, executions, type Transaction, users } from '@belay/db';
import { and, desc, eq, inArray, ne, or, sql } from 'drizzle-orm';
import { isExcluded, isRequester } from '../approvals/exclusion.js';
import type { ApprovalSubject } from '../approvals/inbox.js';
import type { ActorStore, UserActor } from '../context.js';
import { findExecution, isId } from '../find-execution.js';
import { hasAddress } from '../people/names.js';
import { listSelves } from '../people/selves.js';

/** The part that a person has in a conversation; null for those who can only read it. */
export type Side = 'requester' | 'approver' | null;

export interface Conversation {
  executionId: string;
  ownerId: string;
  ended: boolean;
  side: Side;
}

/**
 * Returns the conversation about an execution, by its id or the id of one of its approvals. Throws `not_found` for
 * callers who neither take part in it nor may see the execution.
 */
export async function findConversation(ctx: ActorStore, db: Database | Transaction, id: string): Promise<Conversation> {
  const execution = isId(id) ? await readExecution(db, id) : undefined;
  if (!execution) throw notFound('The execution');
  const side = ctx.actor.kind === 'user' ? await sideOf(db, ctx.actor, execution) : null;
  if (side === null) await findExecution(ctx, ctx.actor, execution.id);
  return { executionId: execution.id, ownerId: execution.ownerId, ended: execution.endedAt !== null, side };
}

async function readExecution(db: Database | Transaction, id: string) {
  const named = db.select({ id: approvals.executionId }).from(approvals).where(eq(approvals.id, id));
  const [execution] = await db
    .select({ id: executions.id, ownerId: executions.ownerId, endedAt: executions.endedAt })
    .from(executions)
    .where(or(eq(executions.id, id), inArray(executions.id, named)));
  return execution;
}

/**
 * Returns the side that a person may write for; only this function decides that. The requester and the person to be elevated are one side;
 * the people whom an open approval names, and those who have decided, are the other. No person is an approver of their own request, under
 * any of their identities.
 */
async function sideOf(
  db: Database | Transaction,
  user: UserActor,
  execution: { id: string; ownerId: string },
): Promise<Side> {
  if (user.id === execution.ownerId) return 'requester';
  const asked = await db
    .select({
      rule: approvals.rule,
      subject: approvals.subject,
      excluded: approvals.excluded,
      open: sql<boolean>`${approvals.status} = 'open' and ${approvals.expiresAt} > app_now()`,
      decided: sql<boolean>`exists (select 1 from ${decisions}
        where ${decisions.approvalId} = ${approvals.id} and ${decisions.approverId} = ${user.id})`,
    })
    .from(approvals)
    .where(eq(approvals.executionId, execution.id));
  // Taking part in the conversation is a right, so only the address that approvers were shown gives it. To exclude a
  // person, every name of the account counts.
  const elevated = asked.flatMap(({ subject }) => (subject as ApprovalSubject).grants);
  if (elevated.some(({ identityEmail }) => hasAddress(user, identityEmail))) return 'requester';
  if (!asked.some((approval) => approval.decided || (approval.open && isNamed(user, approval.rule)))) return null;
  const selves = [user, ...(await listSelves(db, user.id))];
  const own = isRequester(selves, execution) || asked.some((approval) => isExcluded(selves, approval));
  return own ? null : 'approver';
}

/** Returns whether the last question about an execution has no answer yet. */
export async function hasOpenQuestion(db: Database | Transaction, executionId: string): Promise<boolean> {
  const [last] = await db
    .select({ kind: comments.kind })
    .from(comments)
    .where(and(eq(comments.executionId, executionId), ne(comments.kind, 'comment')))
    .orderBy(desc(comments.createdAt), desc(comments.id))
    .limit(1);
  return last?.kind === 'question';
}

/** Returns what a side can write now. */
export function kindsFor(side: Side, { ended, question }: { ended: boolean; question: boolean }): CommentKind[] {
  if (ended || side === null) return [];
  if (side === 'approver') return ['comment', 'question'];
  return question ? ['comment', 'answer'] : ['comment'];
}

/** The columns of a comment that are shown. */
export const shownComment = {
  id: comments.id,
  kind: comments.kind,
  text: comments.text,
  author: { email: users.email, name: users.name },
  createdAt: comments.createdAt,
};
