import { type Database, type LedgerLevel, ledger, type Transaction } from '@belay/db';
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

/** Appends to the ledger, in the transaction of what it tells of, so that the two cannot disagree (design §5.1). */
export async function appendLedger(tx: Transaction | Database, entries: readonly LedgerEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await tx.insert(ledger).values(
    entries.map((entry) => ({
      type: entry.type,
      level: entry.level ?? 'info',
      message: entry.message,
      actor: describeActor(entry.actor),
      userId: entry.userId ?? null,
      provider: entry.provider ?? null,
      executionId: entry.executionId ?? null,
      entitlementId: entry.entitlementId ?? null,
      data: entry.data ?? null,
    })),
  );
}

/** Who acted, as the ledger keeps it: enough for an auditor, nothing that proves anything. */
function describeActor(actor: Actor): object {
  if (actor.kind !== 'user') return actor;
  return { kind: 'user', id: actor.id, email: actor.email, provider: actor.provider };
}
