import { entitlements } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { Context } from '../context.js';

/**
 * Makes due what was put off at a provider because calls failed: it answers again. What a worker has claimed is left to it. The
 * places of the provider limit how much of it is done at once, revocations first.
 */
export async function retryAtOnce(ctx: Context, provider: string): Promise<void> {
  const due = await ctx.db.execute<{ id: string }>(sql`
    with waiting as (
      select id from ${entitlements} where provider = ${provider} and state in ('granting', 'revoking') and failures > 0
        and lease_until is null and due_at > app_now()
      order by id for update skip locked)
    update ${entitlements} e set due_at = app_now() from waiting where e.id = waiting.id returning e.id`);
  const [first] = due;
  // One hint: whoever gets it takes everything that is due there.
  if (first) ctx.waker.wake([{ queue: 'entitlements', entitlementId: first.id, provider }]);
}
