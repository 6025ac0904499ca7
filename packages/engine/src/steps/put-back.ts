import { backOff } from '@belay/contract/back-off';
import { steps } from '@belay/db';
import { and, eq, isNotNull, isNull, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import type { EngineStore } from '../ports.js';

/** What failed: the turn that a step made due, or a call whose lease this process has. */
export interface FailedStep {
  executionId: string;
  key: string;
  /** The claim of the turn, when this process has its lease. */
  claimId?: string | undefined;
  /** The attempt of the call that this process has claimed. */
  attempt?: number;
}

/**
 * Hides a failing step for a time that grows with each failure: otherwise it would always be the longest due, and
 * enough such steps would keep everything else from being found. An outage is not a failure of the step. Returns
 * whether the step was put back; the first failure in a row is logged as an error, so that an operator sees it.
 */
export async function putBack(ctx: EngineStore, step: FailedStep, error: unknown): Promise<boolean> {
  const { executionId, key } = step;
  const which = and(eq(steps.executionId, executionId), eq(steps.key, key), eq(steps.status, 'open'), isHeld(step));
  const [row] = await ctx.db.select({ failures: steps.failures }).from(steps).where(which);
  if (!row) return false;
  const counts = !ctx.host.isOutage(error);
  const failures = row.failures + (counts ? 1 : 0);
  const wait = backOff(ctx.timing.turnBackoff, failures, (ctx.randomBytes(1)[0] ?? 0) / 255);
  const put = await ctx.db
    .update(steps)
    .set({ failures, leaseUntil: sql`app_now() + ${`${wait} milliseconds`}::interval` })
    .where(which)
    .returning({ key: steps.key });
  if (put.length === 0) return false;
  if (!counts) return true;
  const detail = { execution: executionId, step: key, failures, error };
  if (failures === 1)
    ctx.log.error(detail, 'an execution failed with an internal error; it is retried with growing pauses');
  else ctx.log.debug(detail, 'an execution still fails with an internal error');
  return true;
}

/** Returns the condition under which this process may put the step back: it holds the lease, or no process does and the turn is due. */
function isHeld({ attempt, claimId }: FailedStep): SQL | undefined {
  if (attempt !== undefined) return eq(steps.attempt, attempt);
  return and(
    lte(steps.dueAt, sql`app_now()`),
    // A call without an outcome belongs to the process that claims it.
    or(ne(steps.kind, 'call'), isNotNull(steps.outcomeAt)),
    or(
      isNull(steps.leaseUntil),
      lte(steps.leaseUntil, sql`app_now()`),
      claimId === undefined ? undefined : sql`split_part(${steps.claim}, ' ', 1) = ${claimId}`,
    ),
  );
}
