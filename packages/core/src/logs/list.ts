import { limits } from '@belay/contract/limits';
import type { LogFilter, LogList } from '@belay/contract/logs';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { readLedger } from './read.js';

/** The interface's limit (GET /logs). */
const most = limits.page;

/** Returns the newest log entries that the caller may see, newest first (docs/interface.md, section 10). */
export async function listLogs(ctx: ActorStore, input: LogFilter): Promise<LogList> {
  const { limit, ...filter } = input;
  const rows = await readLedger(ctx, requireUser(ctx), filter, { limit: Math.min(limit ?? most, most) });
  return { logs: rows.map(({ entry }) => entry) };
}
