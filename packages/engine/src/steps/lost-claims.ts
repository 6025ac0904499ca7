import { type SqlText, sqlText, steps } from '@belay/db';
import { sql } from 'drizzle-orm';
import type { EngineStore } from '../ports.js';
import { givingBack } from './give-back.js';

/** Releases the claim of a step or a turn whose response was lost, or whose database connection was lost. */
export const freeLostStep = givingBack(freeSteps);

/**
 * Runs work that makes or uses claims, and releases them when the database connection is lost: the statement may have
 * been committed.
 */
export async function claiming<T>(ctx: EngineStore, claimIds: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ctx.host.isOutage(error)) for (const claimId of claimIds) freeLostStep(ctx, claimId);
    throw error;
  }
}

/**
 * Returns the content of `steps.claim`: the id and the attempt of the claim. The attempt distinguishes the claim from a
 * later claim by an older version of Belay, which does not write this column.
 */
export function claimText(claimId: SqlText | string, attempt: SqlText | number): SqlText {
  return sqlText`${claimId}::text || ' ' || ${attempt}::int`;
}

async function freeSteps(ctx: EngineStore, claimIds: readonly string[]): Promise<Set<string>> {
  // A claimed step is due, so the index of due rows leads to it.
  const freed = await ctx.db.execute<{ execution_id: string; key: string; claim_id: string }>(sql`
    update ${steps} set lease_until = null
    where status = 'open' and kind <> 'event' and due_at <= app_now() and lease_until > app_now()
      and split_part(claim, ' ', 1) = any(${`{${claimIds.join(',')}}`}::text::text[])
      and split_part(claim, ' ', 2) = attempt::text
    returning execution_id, key, split_part(claim, ' ', 1) as claim_id`);
  if (freed.length > 0) ctx.crashpoint('step given back');
  if (freed.length > 0) ctx.log.info({ count: freed.length }, 'released claims whose database response was lost');
  ctx.waker.wake(freed.map(({ execution_id, key }) => ({ queue: 'executions', executionId: execution_id, key })));
  return new Set(freed.map(({ claim_id }) => claim_id));
}
