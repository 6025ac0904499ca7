import { AccessError } from '@belay/contract/errors';
import { execute, executions, grants, inOrder, sqlText, type Transaction } from '@belay/db';
import {
  decideTurn,
  type Locked,
  lockExecution,
  makingTurnDue,
  notingCancellation,
  type PreparedMove,
  prepare,
  readSnapshot,
  retryDeadlock,
  turnJob,
  writePrepared,
} from '@belay/engine';
import { endGrants } from '../access/end.js';
import { endHeld } from '../access/end-held.js';
import { isLiveOf } from '../access/wanted.js';
import { nameOf } from '../actor.js';
import type { ActorContext, Context, Job } from '../context.js';
import { findExecution } from '../find-execution.js';
import { appendLedger } from '../ledger/append.js';
import { listExtensions, listFamily } from '../request-family.js';

/** How often a cancellation is decided while other moves of the execution come first. Then it is left to the next turn. */
const tries = 3;

/**
 * Cancels the caller's execution: a `try` that names the cancellation may clean up; the execution ends `cancelled`
 * regardless of the cleanup, and its grants end with it (docs/interface.md, section 4, rule 2; docs/architecture.md,
 * section 5). Throws `forbidden` or `not_found` for another person's execution, `conflict` for one that has ended.
 */
export async function cancelExecution(
  ctx: ActorContext,
  input: { id: string },
): Promise<{ status: 'ok'; message: string }> {
  await requireOwned(ctx, input.id);
  await endExtensions(ctx, input.id);
  await cancelUnasked(ctx, input.id);
  // An extension may have been requested meanwhile.
  await endExtensions(ctx, input.id);
  return { status: 'ok', message: 'The execution is cancelled and its access ends' };
}

/** Cancels an execution without checking whose it is. */
async function cancelUnasked(ctx: ActorContext, id: string): Promise<void> {
  const jobs = await cancel(ctx, id);
  ctx.crashpoint('committed');
  ctx.waker.wake(jobs);
}

/** Gives back or cancels all requests that extend an execution, because they hold the same access. */
export async function endExtensions(ctx: ActorContext, id: string): Promise<void> {
  for (const one of await listExtensions(ctx.db, id)) await giveBack(ctx, one);
}

/**
 * Gives back the access of all other executions of a family, the extensions first; the caller then gives back that of
 * `id`. Does nothing when `id` holds no access.
 */
export async function endFamily(ctx: ActorContext, { id, ownerId }: { id: string; ownerId: string }): Promise<void> {
  const family = await listFamily(ctx.db, id, ownerId);
  if (family.length < 2 || !(await readRest(ctx, id)).held) return;
  await endExtensions(ctx, id);
  for (const one of family.filter((each) => each !== id).reverse()) {
    if ((await readRest(ctx, one)).held) await unlessOver(endHeld(ctx, { id: one }, { reason: 'returned' }));
  }
}

/** Gives the access of an execution back, or cancels an execution that holds no access yet. */
export async function giveBack(ctx: ActorContext, id: string): Promise<void> {
  const { held, ended } = await readRest(ctx, id);
  if (held) await unlessOver(endHeld(ctx, { id }, { reason: 'returned' }));
  else if (!ended) await unlessOver(cancelUnasked(ctx, id));
}

/** Returns whether an execution holds access, and whether it has ended. */
export async function readRest(ctx: Context, executionId: string): Promise<{ held: boolean; ended: boolean }> {
  const [row] = await execute<{ held: boolean; ended: boolean }>(
    ctx.db,
    sqlText`
    select ended_at is not null as ended,
      exists (select from ${grants} where ${isLiveOf(sqlText`${executionId}::uuid`)}) as held
    from ${executions} where id = ${executionId}::uuid`,
  );
  return row ?? { held: false, ended: true };
}

/** Ignores `conflict`: the access or the execution has ended meanwhile. */
async function unlessOver(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof AccessError) || error.code !== 'conflict') throw error;
  }
}

/** Decides the move of the cancellation, and writes it; decides again when the execution has moved meanwhile. */
async function cancel(ctx: ActorContext, id: string): Promise<Job[]> {
  for (let made = 0; made < tries; made += 1) {
    const snapshot = await readSnapshot(ctx, id);
    const decided = snapshot && (await decideTurn(ctx, snapshot, { is: 'interrupt', actor: ctx.actor }));
    if (!snapshot || !decided) throw hasEnded();
    const move = prepare(ctx, snapshot, decided, { actor: ctx.actor });
    const jobs = await store(ctx, id, { ...move, jobs: [...move.jobs] });
    if (jobs) return jobs;
  }
  const jobs = (await store(ctx, id)) ?? [];
  ctx.crashpoint('cancellation stored');
  return jobs;
}

/**
 * Stores the cancellation and ends the access immediately, because the cleanup may take any time. Without a move, for an execution that
 * keeps moving, the next turn applies the cancellation before anything else. Returns null, and writes nothing, when the execution has moved
 * since the move was decided.
 */
function store(ctx: ActorContext, id: string, move?: PreparedMove): Promise<Job[] | null> {
  const before = move?.jobs.length ?? 0;
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx): Promise<Job[] | null> => {
      if (move) move.jobs.length = before;
      const locked = await lockExecution(tx, id);
      if (!locked) throw hasEnded();
      if (move && move.version !== locked.version) return null;
      // This comes before the move, because the move would end the grants of its closed steps with another reason.
      const ended = await endGrants(tx, { executionId: id, reason: 'cancelled', actor: ctx.actor });
      if (move) await writePrepared(ctx, tx, move, { locked: true });
      else await makingTurnDue(tx, id);
      await noteCancellation(ctx, tx, locked);
      return [...ended, ...(move?.jobs ?? [turnJob(id)])];
    }),
  );
}

async function noteCancellation(ctx: ActorContext, tx: Transaction, { id, ownerId }: Locked): Promise<void> {
  await inOrder([
    notingCancellation(tx, id),
    appendLedger(tx, [
      {
        type: 'execution.cancel_requested',
        message: `${nameOf(ctx.actor)} cancelled the request`,
        actor: ctx.actor,
        userId: ownerId,
        executionId: id,
      },
    ]),
  ]);
}

/**
 * Throws unless the caller owns the execution or is an operator: `forbidden` for others who may see it, and `not_found`
 * for all others. Throws `conflict` for an execution that has ended.
 */
export async function requireOwned(ctx: ActorContext, id: string): Promise<void> {
  const found = await findExecution(ctx, ctx.actor, id);
  if (found.sight === 'approver' || found.sight === 'overseer')
    throw new AccessError('forbidden', 'The execution belongs to another person');
  if (found.execution.endedAt) throw hasEnded();
}

function hasEnded(): AccessError {
  return new AccessError('conflict', 'The execution has already ended');
}
