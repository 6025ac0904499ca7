import { approvals, messages, type Transaction } from '@belay/db';
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
