import { notFound } from '@belay/contract/errors';
import type { RunEnd } from '@belay/contract/runs';
import { execute, type RunOutcome, reachable, runs, sqlText, users } from '@belay/db';
import { retryDeadlock } from '@belay/engine';
import { eq } from 'drizzle-orm';
import { requireUser, withActor } from '../actor.js';
import type { ActorContext, Context } from '../context.js';
import { giveBack, readRest } from '../executions/cancel.js';
import { isId } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { familyOf, listFamily } from '../request-family.js';
import { readingNow } from './lease.js';

/**
 * Ends a run. The last run of an execution that was requested for a run gives its access back; other access is left
 * alone. Repeated calls return the same outcome. Throws `not_found` for a run of another person.
 */
export async function endRun(ctx: ActorContext, { run_id: id }: { run_id: string }): Promise<RunEnd> {
  const user = requireUser(ctx);
  const run = isId(id) ? await readRun(ctx, id) : undefined;
  if (run?.userId !== user.id) throw notFound('The run');
  const outcome = run.outcome ?? (await finish(ctx, run, 'run.ended'));
  // Only the end of a lapsed run may be left unwritten: null here means that the run has been deleted.
  if (outcome === null) throw notFound('The run');
  if (outcome === 'given_back') await settle(ctx, run);
  return { run_id: run.id, execution_id: run.executionId, outcome };
}

/** The maximum number of runs that one sweep looks at; the next sweep takes the others. */
const most = 200;

/**
 * Ends the runs whose heartbeat was missing for their lease, and completes what an end left to do. Called by every
 * sweep; repeated and simultaneous calls change nothing. Returns how many runs it looked at.
 */
export async function endLapsedRuns(ctx: Context): Promise<number> {
  const due = await execute<{ id: string }>(
    ctx.db,
    sqlText`
    select id from ${runs} where settled_at is null and due_at <= (select milliseconds from ${reachable})
    order by due_at limit ${most}`,
  );
  const acting = withActor(ctx, { kind: 'system', name: 'runs' });
  for (const { id } of due) {
    // An error of one run must not stop the others.
    await endLapsed(acting, id).catch((error: unknown) =>
      ctx.log.error({ error, run: id }, 'a run could not be ended'),
    );
  }
  return due.length;
}

async function endLapsed(ctx: ActorContext, id: string): Promise<void> {
  const run = await readRun(ctx, id);
  if (!run || run.settledAt) return;
  const outcome = run.outcome ?? (await finish(ctx, run, 'run.lapsed'));
  if (outcome === 'given_back') await settle(ctx, run);
}

type RunRow = typeof runs.$inferSelect;

async function readRun(ctx: Context, id: string): Promise<RunRow | undefined> {
  const [run] = await ctx.db.select().from(runs).where(eq(runs.id, id));
  return run;
}

/**
 * Writes the end of a run, and decides what becomes of the access, under the lock under which runs join. Returns null
 * when a heartbeat came before a lapse was written.
 */
function finish(ctx: ActorContext, run: RunRow, type: 'run.ended' | 'run.lapsed'): Promise<RunOutcome | null> {
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      await tx.select({ id: users.id }).from(users).where(eq(users.id, run.userId)).for('no key update');
      // An extension holds the same access, so the runs of the whole family count.
      const family = familyOf(sqlText`${run.executionId}::uuid`);
      const [ended] = await execute<{ outcome: RunOutcome; fresh: boolean }>(
        tx,
        sqlText`
        with chosen as (
          select r.id, r.outcome is null as fresh, coalesce(r.outcome, case
            when exists (select from ${runs} o where o.execution_id in ${family} and o.id <> r.id and o.ended_at is null)
            then 'in_use'
            when not exists (select from ${runs} o where o.execution_id in ${family} and o.requested) then 'left'
            else 'given_back' end) as outcome
          from ${runs} r where r.id = ${run.id}::uuid
            and (r.outcome is not null or ${type === 'run.ended'}::boolean
              or r.due_at <= (select milliseconds from ${reachable}))
          for update),
        written as (
          update ${runs} r set ended_at = app_now(), outcome = chosen.outcome, due_at = 0,
            settled_at = case when chosen.outcome = 'given_back' then null else app_now() end
          from chosen where r.id = chosen.id and chosen.fresh)
        select outcome, fresh from chosen`,
      );
      if (ended?.fresh) await appendLedger(tx, [entryOf(ctx, run, type, ended.outcome)]);
      return ended?.outcome ?? null;
    }),
  );
}

const becomes: Record<RunOutcome, string> = {
  given_back: 'its access is given back',
  in_use: 'another command still uses the access',
  left: 'the access was not requested for a command and is left',
};

function entryOf(ctx: ActorContext, run: RunRow, type: 'run.ended' | 'run.lapsed', outcome: RunOutcome) {
  const what = type === 'run.ended' ? 'A command ended' : 'The heartbeat of a command stopped';
  return {
    type,
    message: `${what}: ${becomes[outcome]}`,
    actor: ctx.actor,
    userId: run.userId,
    executionId: run.executionId,
    data: { run_id: run.id, outcome },
  };
}

/**
 * Gives the access back, or cancels a request that holds none yet. A workflow may grant more after that, so the run is
 * checked again until its execution has ended and holds no access.
 */
async function settle(ctx: ActorContext, { id, executionId }: RunRow): Promise<void> {
  // Extensions end too, the latest first, so that none of them can be granted meanwhile.
  for (const one of (await listFamily(ctx.db, executionId)).reverse()) await giveBack(ctx, one);
  let left = false;
  for (const one of await listFamily(ctx.db, executionId)) {
    const { held, ended } = await readRest(ctx, one);
    left ||= held || !ended;
  }
  await execute(
    ctx.db,
    left
      ? sqlText`update ${runs} r set due_at = reading.now + ${ctx.timing.run.settle}::bigint
          from (select ${readingNow(ctx)} as now from ${reachable}) as reading where r.id = ${id}::uuid`
      : sqlText`update ${runs} set settled_at = app_now() where id = ${id}::uuid and settled_at is null`,
  );
}
