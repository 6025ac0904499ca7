import { sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { answerInTime } from './answer-in-time.js';
import { programVersion } from './version.js';

/** Whether requests can be served: the database answers and a configuration is in force (interface, GET /ready). */
export async function readReadiness(
  ctx: Context,
): Promise<{ status: 'ready' | 'not ready'; timestamp: string; version: string }> {
  const timestamp = ctx.clock().toISOString();
  try {
    ctx.catalog.current();
    const status = await answerInTime(
      ctx,
      async () => {
        await ctx.db.execute(sql`select 1`);
        return 'ready' as const;
      },
      () => 'not ready' as const,
    );
    return { status, timestamp, version: programVersion(ctx) };
  } catch {
    return { status: 'not ready', timestamp, version: programVersion(ctx) };
  }
}
