import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { LogFilter, LogPage } from '@belay/contract/logs';
import { requireUser } from '../actor.js';
import type { ActorStore } from '../context.js';
import { readLedger } from './read.js';

const most = limits.page;

/** Returns one page of everything that the caller may see, however old: the limit of GET /logs does not apply. */
export async function exportLogs(
  ctx: ActorStore,
  input: LogFilter & { cursor?: string | undefined },
): Promise<LogPage> {
  const { cursor, limit, ...filter } = input;
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
    throw invalid('cursor', 'is not a cursor issued by this server');
  const wanted = Math.min(limit ?? most, most);
  const before = cursor === undefined ? undefined : Number(cursor);
  const rows = await readLedger(ctx, requireUser(ctx), filter, { before, limit: wanted });
  const logs = rows.map(({ seq, entry }) => ({ ...entry, cursor: String(seq) }));
  return { logs, next: logs.length < wanted ? null : (logs.at(-1)?.cursor ?? null) };
}
