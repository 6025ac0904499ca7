import { programVersion, type Readiness } from '@belay/contract/system';
import { sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { answerInTime } from './answer-in-time.js';

/** How long a result is repeated while the next check runs, in milliseconds. */
const longestKept = 1_000;

/**
 * Returns a check of whether requests can be served (GET /ready): the database responds, a configuration is in force, and the queue
 * has been connected at least once since the start. A queue that is lost later does not count, because it only costs time.
 * Concurrent calls share one check. The result `ready` is repeated for a second while the next check runs, so that a busy machine
 * does not delay the response; `not ready` is never repeated.
 */
export function createReadiness(ctx: Store, queueSeen: () => Promise<boolean>): () => Promise<Readiness> {
  let kept: { at: number; readiness: Readiness } | null = null;
  let looking: Promise<Readiness> | null = null;

  async function look(): Promise<Readiness> {
    const at = ctx.clock().getTime();
    const readiness = await lookNow(ctx, queueSeen);
    kept = readiness.status === 'ready' ? { at, readiness } : null;
    looking = null;
    return readiness;
  }

  return async () => {
    looking ??= look();
    const age = kept === null ? Number.NaN : ctx.clock().getTime() - kept.at;
    // A negative age means that the clock was set back; the result may then be older than it seems.
    return kept !== null && age >= 0 && age < longestKept ? kept.readiness : looking;
  };
}

async function lookNow(ctx: Store, queueSeen: () => Promise<boolean>): Promise<Readiness> {
  const timestamp = ctx.clock().toISOString();
  try {
    ctx.catalog.current();
    const status = await answerInTime<'ready' | 'not ready', 'not ready'>(
      ctx,
      async () => {
        const [seen] = await Promise.all([queueSeen(), ctx.db.execute(sql`select 1`)]);
        return seen ? 'ready' : 'not ready';
      },
      () => 'not ready',
    );
    return { status, timestamp, version: programVersion(ctx) };
  } catch {
    return { status: 'not ready', timestamp, version: programVersion(ctx) };
  }
}
