import { programVersion } from '@belay/contract/system';
import { sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { answerInTime } from './answer-in-time.js';

/**
 * Whether requests can be served: the database answers, a configuration is in force, and the queue has been there since the
 * start (GET /ready). A queue that is lost later costs time and nothing else.
 */
export async function readReadiness(
  ctx: Context,
  queueSeen: () => Promise<boolean>,
): Promise<{ status: 'ready' | 'not ready'; timestamp: string; version: string }> {
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
