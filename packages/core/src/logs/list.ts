import { limits } from '@belay/contract/limits';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { type LogEntry, type LogFilter, readLedger } from './read.js';

export interface ListLogs extends LogFilter {
  limit?: number | undefined;
}

/** The interface's limit (GET /logs). */
const most = limits.page;

/** The newest log entries that the caller may see, newest first (docs/interface.md, section 10). */
export async function listLogs(ctx: ActorContext, input: ListLogs): Promise<{ logs: LogEntry[] }> {
  const { limit, ...filter } = input;
  const rows = await readLedger(ctx, requireUser(ctx), filter, { limit: Math.min(limit ?? most, most) });
  return { logs: rows.map(({ entry }) => entry) };
}
