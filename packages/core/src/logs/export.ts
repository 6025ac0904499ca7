import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import { type LogEntry, type LogFilter, readLedger } from './read.js';

export interface ExportLogs extends LogFilter {
  /** Of the entry after which to go on; absent: from the newest. */
  cursor?: string | undefined;
  limit?: number | undefined;
}

export interface LogPage {
  /** Newest first, each with the cursor that goes on after it. */
  logs: (LogEntry & { cursor: string })[];
  /** Null when there is nothing older. */
  next: string | null;
}

const most = limits.page;

/** One page of everything that the caller may see, however far back: the limit of GET /logs does not cut it. */
export async function exportLogs(ctx: ActorContext, input: ExportLogs): Promise<LogPage> {
  const { cursor, limit, ...filter } = input;
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) throw invalid('cursor', 'is none of ours');
  const wanted = Math.min(limit ?? most, most);
  const before = cursor === undefined ? undefined : Number(cursor);
  const rows = await readLedger(ctx, requireUser(ctx), filter, { before, limit: wanted });
  const logs = rows.map(({ seq, entry }) => ({ ...entry, cursor: String(seq) }));
  return { logs, next: logs.length < wanted ? null : (logs.at(-1)?.cursor ?? null) };
}
