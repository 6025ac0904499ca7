import { sql } from 'drizzle-orm';
import type { Context } from '../context.js';
import { programVersion } from './version.js';

/** Whether requests can be served: the database answers and a configuration is in force (interface, GET /ready). */
export async function readReadiness(
  ctx: Context,
): Promise<{ status: 'ready' | 'not ready'; timestamp: string; version: string }> {
  const timestamp = ctx.clock().toISOString();
  try {
    ctx.catalog.current();
    await ctx.db.execute(sql`select 1`);
    return { status: 'ready', timestamp, version: programVersion(ctx) };
  } catch {
    return { status: 'not ready', timestamp, version: programVersion(ctx) };
  }
}
