import { AccessError } from '@belay/contract/errors';
import { type EndedReason, inOrder, type Transaction } from '@belay/db';
import { type Locked, lockedAny, lockingAny, retryDeadlock, storeOutcome } from '@belay/engine';
import type { ActorContext, ActorStore, Job } from '../context.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { endingGrants, jobsOf } from './end.js';
import { settleHolds } from './held.js';
import { type EntitlementJob, openPlaces, type Places } from './places.js';

/**
 * Ends what an execution holds, whether the execution has ended or not: access outlives a workflow that completed. The
 * outcome of its parked steps is stored in the same transaction, and a worker makes the calls. Throws `conflict` when
 * no access is held.
 */
export async function endHeld(ctx: ActorStore, execution: { id: string }, how: Ending): Promise<void> {
  const ended = await retryDeadlock(() => ctx.db.transaction((tx) => endingHeld(ctx, tx, execution.id, how)));
  ctx.crashpoint('returned');
  if (ended) ctx.waker.wake([...ended.due, ...ended.jobs]);
}

/** The execution is extended, or extends another one. */
export class Related extends Error {}

interface Ending {
  reason: EndedReason;
  entry?: LedgerEntry;
  /** Only the grants of these entitlements. */
  entitlementIds?: readonly string[];
  /** The required owner of the execution. */
  owner?: string;
  /** Throws `Related`, and ends nothing, for an execution with a family, which ends first. */
  alone?: boolean;
}

async function endingHeld(
  ctx: ActorStore,
  tx: Transaction,
  executionId: string,
  how: Ending,
  places?: Places,
): Promise<{ due: EntitlementJob[]; jobs: Job[] } | null> {
  const { reason, owner: ownerId, entitlementIds } = how;
  const ending = endingGrants(tx, { executionId, reason, actor: ctx.actor, ownerId, entitlementIds });
  const [rows, due] = await inOrder([lockingAny(tx, executionId), ending]);
  const locked = lockedAny(rows);
  if (!locked || (how.owner !== undefined && how.owner !== locked.ownerId)) return null;
  const { running } = locked;
  if (how.alone && due.some(({ related }) => related)) throw new Related();
  const ended = jobsOf(due);
  if (ended.length === 0) throw new AccessError('conflict', 'The execution holds no access');
  if (how.entry) await appendLedger(tx, [how.entry]);
  const jobs = running ? await settleParked(ctx, tx, running) : [];
  await places?.claim(tx, ended, 'revoke', { last: true });
  return { due: ended, jobs };
}

/** Stores the outcomes of the parked calls that waited for the end of this access. */
async function settleParked(ctx: ActorStore, tx: Transaction, execution: Locked): Promise<Job[]> {
  const { settled, others } = await settleHolds(tx, execution.id);
  const jobs = settled.map((key): Job => ({ queue: 'executions', executionId: execution.id, key }));
  for (const { key, call } of others) {
    const progress = await ctx.host.functions.get(call)?.progress?.(ctx, tx, execution, key);
    if (!progress) continue;
    await storeOutcome(tx, { executionId: execution.id, key, outcome: progress.outcome });
    jobs.push(...(progress.jobs ?? []), { queue: 'executions', executionId: execution.id, key });
  }
  return jobs;
}

/**
 * Ends what an execution holds, with the places of this process: it revokes where one is free. The execution's turn is taken when the loss is
 * recorded, or by the worker that gets the job. Returns false, and ends nothing, for the execution of another owner.
 */
export async function endHeldHere(ctx: ActorContext, execution: { id: string }, how: Ending): Promise<boolean> {
  const places = openPlaces(ctx);
  try {
    const ended = await retryDeadlock(() => ctx.db.transaction((tx) => endingHeld(ctx, tx, execution.id, how, places)));
    if (!ended) return false;
    ctx.crashpoint('returned');
    // A record of the loss takes the execution's turn at the same time, so that no other worker needs to.
    const revoked = places.claims().some(({ task }) => task === 'revoke');
    ctx.waker.wake([...places.begin(), ...(revoked ? [] : ended.jobs)]);
    return true;
  } finally {
    places.release();
  }
}
