import { type Database, type LedgerLevel, ledger, type Statement, type Transaction } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Actor } from '../context.js';

export interface LedgerEntry {
  type: string;
  message: string;
  actor: Actor;
  level?: LedgerLevel;
  userId?: string | null;
  provider?: string | null;
  executionId?: string | null;
  entitlementId?: string | null;
  data?: Record<string, unknown> | null;
}

/**
 * Appends to the ledger, in the transaction of what it tells of, so that the two cannot disagree (design §5.1). All rows
 * travel as one parameter: this is written with every transition, and a statement of one text is prepared once. Returns the
 * statement, which is sent when it is awaited or given to `inOrder`; nothing when there are no entries.
 */
export function appendLedger(
  tx: Transaction | Database,
  entries: readonly LedgerEntry[],
): (Statement & PromiseLike<unknown>) | undefined {
  if (entries.length === 0) return undefined;
  const rows = entries.map((entry) => ({
    type: entry.type,
    level: entry.level ?? 'info',
    message: entry.message,
    actor: describeActor(entry.actor),
    user_id: entry.userId ?? null,
    provider: entry.provider ?? null,
    execution_id: entry.executionId ?? null,
    entitlement_id: entry.entitlementId ?? null,
    data: entry.data ?? null,
  }));
  return tx.execute(sql`
    insert into ${ledger} (type, level, message, actor, user_id, provider, execution_id, entitlement_id, data)
    select type, level, message, actor, user_id, provider, execution_id, entitlement_id, nullif(data, 'null'::jsonb)
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as entry (
      type text, level text, message text, actor jsonb, user_id uuid, provider text, execution_id uuid,
      entitlement_id uuid, data jsonb)`);
}

/** Who acted, as the ledger keeps it: enough for an auditor, nothing that proves anything. */
function describeActor(actor: Actor): object {
  if (actor.kind !== 'user') return actor;
  return { kind: 'user', id: actor.id, email: actor.email, provider: actor.provider };
}
