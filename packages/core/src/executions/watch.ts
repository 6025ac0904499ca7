import { executions, grants, ledger } from '@belay/db';
import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm';
import type { ActorContext } from '../context.js';
import { findExecution } from './find.js';
import { type HistoryEntry, taskOf } from './get.js';

export interface WatchEvent extends HistoryEntry {
  seq: number;
  /** The execution's status when the event was read. */
  status: string;
}

/** How far back each read looks for rows that were committed late, under a number lower than one already seen. */
const overlap = 1_000;

/**
 * Follows an execution: every ledger row about it, from `after` on, until it has ended and nothing it was granted is left
 * at any provider. Reads rows rather than listening, so that it works across any number of processes. Throws `not_found`
 * for whoever may not see it; ends quietly when the signal aborts.
 */
export async function* watchExecution(
  ctx: ActorContext,
  input: { id: string; after?: number | undefined; signal: AbortSignal },
): AsyncGenerator<WatchEvent, void, undefined> {
  await findExecution(ctx, ctx.actor, input.id);
  const seen = new Set<number>();
  let cursor = input.after ?? 0;
  const first = cursor;
  while (!input.signal.aborted) {
    const state = await readState(ctx, input.id);
    const rows = await readSince(ctx, input.id, Math.max(first, cursor - overlap));
    for (const row of rows) {
      if (seen.has(row.seq)) continue;
      seen.add(row.seq);
      cursor = Math.max(cursor, row.seq);
      yield {
        seq: row.seq,
        event_type: row.type,
        timestamp: row.at.toISOString(),
        message: row.message,
        ...taskOf(row.data),
        status: state.status,
      };
    }
    if (state.over) return;
    try {
      await ctx.delay(ctx.timing.watchInterval, input.signal);
    } catch {
      return;
    }
  }
}

async function readSince(ctx: ActorContext, id: string, after: number) {
  return ctx.db
    .select({ seq: ledger.seq, type: ledger.type, at: ledger.at, message: ledger.message, data: ledger.data })
    .from(ledger)
    .where(and(eq(ledger.executionId, id), gt(ledger.seq, after)))
    .orderBy(asc(ledger.seq));
}

/** Read before the rows, so that an execution that is over has no row that is not read yet. */
async function readState(ctx: ActorContext, id: string): Promise<{ status: string; over: boolean }> {
  const [row] = await ctx.db
    .select({
      status: executions.status,
      ended: sql<boolean>`${executions.endedAt} is not null`,
      owed: sql<boolean>`exists (${ctx.db
        .select({ one: sql`1` })
        .from(grants)
        .where(and(eq(grants.executionId, executions.id), isNull(grants.goneAt)))})`,
    })
    .from(executions)
    .where(eq(executions.id, id));
  return { status: row?.status ?? 'unknown', over: !row || (row.ended && !row.owed) };
}
