import { type LedgerLevel, ledger, users } from '@belay/db';
import { and, desc, eq, type SQL } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { isId } from '../executions/find.js';

export interface LogEntry {
  timestamp: string;
  level: string;
  message: string;
  provider: string;
  user: string;
  workflow_id: string;
  type: string;
}

export interface ListLogs {
  level?: string | undefined;
  provider?: string | undefined;
  user?: string | undefined;
  workflow_id?: string | undefined;
  limit?: number | undefined;
}

/** The interface's limit (GET /logs). */
const most = 500;

/** The newest log entries about the caller and their requests, newest first (interface, Logs). */
export async function listLogs(ctx: ActorContext, input: ListLogs): Promise<{ logs: LogEntry[] }> {
  const user = requireUser(ctx);
  const filters: (SQL | undefined)[] = [
    eq(ledger.userId, user.id),
    input.level === undefined ? undefined : eq(ledger.level, input.level as LedgerLevel),
    input.provider === undefined ? undefined : eq(ledger.provider, input.provider),
    input.user === undefined ? undefined : eq(users.email, input.user),
  ];
  if (input.workflow_id !== undefined) {
    if (!isId(input.workflow_id)) return { logs: [] };
    filters.push(eq(ledger.executionId, input.workflow_id));
  }
  const rows = await ctx.db
    .select({ entry: ledger, email: users.email })
    .from(ledger)
    .leftJoin(users, eq(users.id, ledger.userId))
    .where(and(...filters))
    .orderBy(desc(ledger.seq))
    .limit(Math.min(input.limit ?? most, most));
  return {
    logs: rows.map(({ entry, email }) => ({
      timestamp: entry.at.toISOString(),
      level: entry.level,
      message: entry.message,
      provider: entry.provider ?? '',
      user: email ?? '',
      workflow_id: entry.executionId ?? '',
      type: entry.type,
    })),
  };
}
