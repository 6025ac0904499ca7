import { type Database, type LedgerLevel, ledger, type Statement, type Transaction, watches } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Actor } from '../context.js';

/** Where the database says which execution was written about, as long as a process watches it. */
export const ledgerChannel = 'belay_ledger';

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
 * travel as one parameter: this is written with every transition, and a statement of one text is prepared once. Executions that
 * are watched are notified of at commit; no others, because commits with a notification wait for each other. Returns the
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
    with written as (
    insert into ${ledger} (type, level, message, actor, user_id, provider, execution_id, entitlement_id, data)
    select type, level, message, actor, user_id, provider, execution_id, entitlement_id, nullif(data, 'null'::jsonb)
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as entry (
      type text, level text, message text, actor jsonb, user_id uuid, provider text, execution_id uuid,
      entitlement_id uuid, data jsonb)
    returning execution_id)
    select pg_notify(${sql.raw(`'${ledgerChannel}'`)}, execution_id::text)
    from (select distinct execution_id from written) as told join ${watches} using (execution_id) where until > app_now()`);
}

/** Who acted, as the ledger keeps it: enough for an auditor, nothing that proves anything. */
function describeActor(actor: Actor): object {
  if (actor.kind !== 'user') return actor;
  return { kind: 'user', id: actor.id, email: actor.email, provider: actor.provider };
}
