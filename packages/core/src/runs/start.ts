import { formatDuration, parseDuration } from '@belay/contract/durations';
import { AccessError, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { Run, RunRequest } from '@belay/contract/runs';
import { execute, executions, grants, reachable, runs, sqlText, type Transaction, users } from '@belay/db';
import { eq } from 'drizzle-orm';
import { isLiveIn, overAtIn } from '../access/wanted.js';
import { requireUser } from '../actor.js';
import type { ActorContext, UserActor } from '../context.js';
import { requireDuration } from '../duration.js';
import { requestElevation } from '../elevation/request.js';
import { appendLedger } from '../ledger/append.js';
import { familyOf } from '../request-family.js';
import { readingNow } from './lease.js';

/**
 * Starts a run: joins the caller's request for this role that is open or holds access for long enough, or requests the
 * role. The run and its request are one transaction, so that no request is left without its heartbeat (docs/interface.md, section 18).
 * Throws the errors of `requestElevation`, and `invalid` for a lease out of bounds.
 */
export async function startRun(ctx: ActorContext, request: RunRequest): Promise<Run> {
  const user = requireUser(ctx);
  const { lease: asked, ...terms } = request;
  const run: NewRun = { id: ctx.newId(), user, lease: chooseLease(ctx, asked), request };
  const joined = await ctx.db.transaction((tx) => join(ctx, tx, run));
  if (joined) return describeRun(run, joined, true);
  try {
    const { output } = await requestElevation(ctx, {
      ...terms,
      alongside: async (tx, executionId) => {
        // Another run of the same person may have requested the role since.
        if (await findJoinable(ctx, tx, run, executionId)) throw new Joinable();
        await insertRun(ctx, tx, run, { executionId, requested: true });
      },
    });
    return describeRun(run, output.execution_id, false);
  } catch (error) {
    if (!(error instanceof Joinable)) throw error;
    const found = await ctx.db.transaction((tx) => join(ctx, tx, run));
    if (!found) throw new AccessError('conflict', 'The request that this run would join has ended; try again');
    return describeRun(run, found, true);
  }
}

/** Thrown when there is a request to join, so that no other request is made. */
class Joinable extends Error {}

interface NewRun {
  id: string;
  user: UserActor;
  /** In milliseconds. */
  lease: number;
  request: RunRequest;
}

function describeRun({ id, lease }: NewRun, executionId: string, joined: boolean): Run {
  // A sixth: several beats may be lost before the lease ends.
  return {
    run_id: id,
    execution_id: executionId,
    joined,
    lease: formatDuration(lease),
    beat: formatDuration(lease / 6),
  };
}

function chooseLease({ timing }: ActorContext, asked: string | undefined): number {
  if (asked === undefined) return timing.run.lease;
  const lease = requireDuration(asked, 'lease');
  const { shortest, longest } = timing.run;
  if (lease >= shortest && lease <= longest) return lease;
  throw invalid('lease', `must be between ${formatDuration(shortest)} and ${formatDuration(longest)}`);
}

async function join(ctx: ActorContext, tx: Transaction, run: NewRun): Promise<string | undefined> {
  // The lock under which runs end: access that this run joins is not given back at the end of another run.
  await tx.select({ id: users.id }).from(users).where(eq(users.id, run.user.id)).for('no key update');
  const executionId = await findJoinable(ctx, tx, run);
  if (executionId !== undefined) await insertRun(ctx, tx, run, { executionId, requested: false });
  return executionId;
}

async function insertRun(
  ctx: ActorContext,
  tx: Transaction,
  { id, user, lease, request }: NewRun,
  { executionId, requested }: { executionId: string; requested: boolean },
): Promise<void> {
  await requireQuota(tx, user);
  await execute(
    tx,
    sqlText`
    insert into ${runs} (id, execution_id, user_id, requested, lease, due_at)
    select ${id}::uuid, ${executionId}::uuid, ${user.id}::uuid, ${requested}::boolean, ${lease}::bigint,
      ${readingNow(ctx)} + ${lease}::bigint from ${reachable}`,
  );
  await appendLedger(tx, [
    {
      type: 'run.started',
      message: `${user.email} runs a command with the role ${request.role}${requested ? '' : ', with access of an earlier request'}`,
      actor: ctx.actor,
      userId: user.id,
      executionId,
      data: { run_id: id, requested },
    },
  ]);
}

/**
 * Throws `too_many_requests` for a person with too many runs: the runs that one person leaves behind must not delay the end
 * of other people's runs. The caller holds the person's row, so that simultaneous runs are counted one after the other.
 */
async function requireQuota(tx: Transaction, user: UserActor): Promise<void> {
  const [row] = await execute<{ live: number }>(
    tx,
    sqlText`select count(*)::int as live from ${runs} where user_id = ${user.id}::uuid and ended_at is null`,
  );
  if ((row?.live ?? 0) < limits.runs) return;
  throw new AccessError('too_many_requests', `You have ${limits.runs} runs that have not ended, which is the limit`, {
    retryAfter: 60,
  });
}

interface Candidate {
  id: string;
  providers: string[];
  duration: string;
  /** How long all of its access lasts, in milliseconds; null while it is not active. */
  left: number | null;
}

/**
 * Returns the caller's own request for the same role, at least at the same providers, that still waits or whose access is
 * live. It must last at least as long as requested, or, without a duration, long enough to be of use. A request that was
 * made for a run must have a run that has not ended.
 */
async function findJoinable(
  ctx: ActorContext,
  tx: Transaction,
  { user, request }: NewRun,
  except?: string,
): Promise<string | undefined> {
  const family = familyOf(sqlText`e.id`);
  const candidates = await execute<Candidate>(
    tx,
    sqlText`
    select e.id, e.input->'providers' as providers, e.input->>'duration' as duration,
      (select floor(extract(epoch from min(${overAtIn('g')}) - app_now()) * 1000)::float8 from ${grants} g
       where g.execution_id = e.id and ${isLiveIn('g')} having bool_and(g.activated_at is not null)) as left
    from ${executions} e
    where e.owner_id = ${user.id}::uuid and e.input->>'role' = ${request.role} and e.input->'dynamic' is null
      and e.input->'identities' = '[]'::jsonb and e.id is distinct from ${except ?? null}::uuid
      and e.id in (
        select g.execution_id from ${grants} g where g.user_id = ${user.id}::uuid and ${isLiveIn('g')}
        union all
        select id from ${executions} o where o.owner_id = ${user.id}::uuid and o.ended_at is null
          and o.cancel_requested_at is null and not exists (select from ${grants} g where g.execution_id = o.id))
      and (not exists (select from ${runs} r where r.execution_id in ${family} and r.requested)
        or exists (select from ${runs} r where r.execution_id in ${family} and r.ended_at is null))
    order by e.created_at desc limit 100`,
  );
  const providers = request.providers ?? ctx.catalog.current().roles.get(request.role)?.providers ?? [];
  const asked = request.duration === undefined ? undefined : requireDuration(request.duration, 'duration');
  return candidates.find((candidate) => {
    const whole = parseDuration(candidate.duration);
    // A command must not start with access that is about to end.
    const least = asked ?? Math.min(ctx.timing.run.remaining, whole / 2);
    return providers.every((provider) => candidate.providers.includes(provider)) && (candidate.left ?? whole) >= least;
  })?.id;
}
