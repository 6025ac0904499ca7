import { approvals, messages, notices, type Transaction, toldKinds } from '@belay/db';
import { sql } from 'drizzle-orm';

/** A message about an approval: to whom, and in the workflow's own words when it has some. */
export interface Queued {
  id: string;
  /** The same key is queued once. */
  key: string;
  approvalId: string;
  provider: string;
  to: string;
  text?: string | undefined;
}

/** Queues a message in the transaction that opens the approval it is about; `deliverMessages` sends it. Nothing without the approval. */
export function queueMessage(tx: Transaction, { id, key, approvalId, provider, to, text }: Queued) {
  return tx.execute(sql`
    insert into ${messages} (id, key, approval_id, provider, recipient, text)
    select ${id}::uuid, ${key}, id, ${provider}, ${to}, ${text ?? null} from ${approvals} where id = ${approvalId}::uuid
    on conflict do nothing`);
}

/** A message that a step of a workflow sends. */
export interface Told {
  id: string;
  executionId: string;
  stepKey: string;
  provider: string;
  to: string;
  title: string;
  text: string;
}

/** Queues the message of a step, once: from then on it is delivered, also when the step has ended. */
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
 * Writes that some people are to be told of a comment, in the transaction that writes it; nothing where the configuration does not
 * tell of comments.
 */
export function noticeComment(
  tx: Transaction,
  { commentId, executionId, to }: { commentId: string; executionId: string; to: readonly string[] },
) {
  return tx.execute(sql`
    insert into ${notices} (key, kind, execution_id, user_id)
    select kind || ':' || ${commentId}::text || ':' || reader, kind, ${executionId}::uuid, reader::uuid
    from ${toldKinds}, jsonb_array_elements_text(${JSON.stringify(to)}::text::jsonb) reader
    where kind = 'request.comment'
    on conflict do nothing`);
}

/** Returns the id of the comment or the review that a notice is about, from the notice's key. */
export function subjectOf(key: string): string {
  return key.split(':')[1] ?? '';
}
