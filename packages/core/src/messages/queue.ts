import { approvals, messages, notices, type SqlText, sqlText, type Transaction, toldKinds } from '@belay/db';
import { sql } from 'drizzle-orm';

/** A message about an approval. `text` is the workflow's own text, where it has one. */
export interface Queued {
  id: string;
  /** Only one message is queued with the same key. */
  key: string;
  approvalId: string;
  /** The requester. */
  cause: string;
  provider: string;
  to: string;
  text?: string | undefined;
}

/**
 * Queues a message in the transaction that opens the approval that it is about; `deliverMessages` sends it. Queues nothing when the
 * approval does not exist.
 */
export function queueMessage(tx: Transaction, message: Queued) {
  return tx.execute(sqlText`
    with questions as (select id from ${approvals} where id = ${message.approvalId}::uuid) ${queueingMessages([message])}`);
}

/** Returns the statement that queues messages about the approvals in the relation `questions`, by their `id`. */
export function queueingMessages(queued: readonly Queued[]): SqlText {
  const rows = queued.map(({ approvalId: approval_id, to: recipient, ...one }) => ({ ...one, approval_id, recipient }));
  return sqlText`
    insert into ${messages} (id, key, approval_id, cause, provider, recipient, text)
    select one.id, key, approval_id, cause, provider, recipient, text
    from questions join jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as one (id uuid, key text, approval_id uuid, cause uuid, provider text, recipient text, text text) on approval_id = questions.id
    on conflict do nothing`;
}

/** A message that a step of a workflow sends. */
export interface Told {
  id: string;
  executionId: string;
  stepKey: string;
  /** The requester. */
  cause: string;
  provider: string;
  to: string;
  title: string;
  text: string;
}

/** Queues the message of a step, once. It is then delivered even when the step has ended. */
export function queueTold(tx: Transaction, { to, ...message }: Told) {
  const key = keyOfStep(message.executionId, message.stepKey);
  return tx
    .insert(messages)
    .values({ ...message, key, recipient: to })
    .onConflictDoNothing();
}

/** Returns the idempotency key of the message that belongs to a step. */
export function keyOfStep(executionId: string, stepKey: string): string {
  return `${executionId}${stepKey}`;
}

/**
 * Writes a notice of a comment for each of some people, in the transaction that writes the comment. Writes nothing when the configuration
 * has no notices of comments.
 */
export function noticeComment(
  tx: Transaction,
  {
    commentId,
    executionId,
    authorId,
    to,
  }: {
    commentId: string;
    executionId: string;
    authorId: string;
    to: readonly string[];
  },
) {
  return tx.execute(sql`
    insert into ${notices} (key, kind, execution_id, user_id, cause)
    select kind || ':' || ${commentId}::text || ':' || reader, kind, ${executionId}::uuid, reader::uuid, ${authorId}::uuid
    from ${toldKinds}, jsonb_array_elements_text(${JSON.stringify(to)}::text::jsonb) reader
    where kind = 'request.comment'
    on conflict do nothing`);
}

/** Returns the id of the comment or the review that a notice is about, from the notice's key. */
export function subjectOf(key: string): string {
  return key.split(':')[1] ?? '';
}
