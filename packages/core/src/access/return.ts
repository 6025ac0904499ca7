import { AccessError } from '@belay/contract/errors';
import { type EndedReason, inOrder, type Transaction } from '@belay/db';
import { type Locked, lockedAny, lockingAny, retryDeadlock, storeOutcome } from '@belay/engine';
import { requireUser } from '../actor.js';
import type { ActorContext, ActorStore, Hint } from '../context.js';
import { findExecution, isId } from '../find-execution.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { endingGrants, hintsOf } from './end.js';
import { settleHolds } from './held.js';
import { type EntitlementHint, openPlaces, type Places } from './places.js';

/**
 * Gives the access of the caller's execution back before it expires. The grants end in this transaction; the provider
 * is called immediately, and until it has revoked (R3, R4). Throws `forbidden` for another person's execution,
 * `conflict` when no access is held.
 */
export async function returnAccess(
  ctx: ActorContext,
  input: { execution_id: string },
): Promise<{ status: 'ok'; message: string }> {
  const user = requireUser(ctx);
  const { execution_id: id } = input;
  const own = isId(id) && (await endHere(ctx, { id }, { reason: 'returned', owner: user.id }));
  if (!own) {
    await findExecution(ctx, user, id);
    throw new AccessError('forbidden', 'The access belongs to another person');
  }
  return { status: 'ok', message: 'The access is given back' };
}

/**
 * Ends what an execution holds, whether the execution has ended or not: access outlives a workflow that completed. The
 * outcome of its parked steps is stored in the same transaction, and a worker makes the calls. Throws `conflict` when
 * no access is held.
 */
export async function endHeld(ctx: ActorStore, execution: { id: string }, how: Ending): Promise<void> {
  const ended = await retryDeadlock(() => ctx.db.transaction((tx) => end(ctx, tx, execution.id, how)));
  ctx.crashpoint('returned');
  if (ended) ctx.waker.wake([...ended.due, ...ended.hints]);
}

/**
 * Does the same with the places of this process: it revokes where one is free. The execution's turn is taken when the loss is
 * recorded, or by the worker that gets the hint. Returns false, and ends nothing, for the execution of another owner.
 */
async function endHere(ctx: ActorContext, execution: { id: string }, how: Ending): Promise<boolean> {
  const places = openPlaces(ctx);
  try {
    const ended = await retryDeadlock(() => ctx.db.transaction((tx) => end(ctx, tx, execution.id, how, places)));
    if (!ended) return false;
    ctx.crashpoint('returned');
    // A record of the loss takes the execution's turn at the same time, so that no other worker needs to.
    const revoked = places.claims().some(({ task }) => task === 'revoke');
    ctx.waker.wake([...places.begin(), ...(revoked ? [] : ended.hints)]);
    return true;
  } finally {
    places.release();
  }
}

interface Ending {
  reason: EndedReason;
  entry?: LedgerEntry;
  /** Only the grants of these entitlements. */
  entitlementIds?: readonly string[];
  /** The required owner of the execution. */
  owner?: string;
}

async function end(
  ctx: ActorStore,
  tx: Transaction,
  executionId: string,
  how: Ending,
  places?: Places,
): Promise<{ due: EntitlementHint[]; hints: Hint[] } | null> {
  const { reason, owner: ownerId, entitlementIds } = how;
  const ending = endingGrants(tx, { executionId, reason, actor: ctx.actor, ownerId, entitlementIds });
  const [rows, due] = await inOrder([lockingAny(tx, executionId), ending]);
  const locked = lockedAny(rows);
  if (!locked || (how.owner !== undefined && how.owner !== locked.ownerId)) return null;
  const { running } = locked;
  const ended = hintsOf(due);
  if (ended.length === 0) throw new AccessError('conflict', 'The execution holds no access');
  if (how.entry) await appendLedger(tx, [how.entry]);
  const hints = running ? await settleParked(ctx, tx, running) : [];
  await places?.claim(tx, ended, 'revoke', { last: true });
  return { due: ended, hints };
}

/** Stores the outcomes of the parked calls that waited for the end of this access. */
async function settleParked(ctx: ActorStore, tx: Transaction, execution: Locked): Promise<Hint[]> {
  const { settled, others } = await settleHolds(tx, execution.id);
  const hints = settled.map((key): Hint => ({ queue: 'executions', executionId: execution.id, key }));
  for (const { key, call } of others) {
    const progress = await ctx.host.functions.get(call)?.progress?.(ctx, tx, execution, key);
    if (!progress) continue;
    await storeOutcome(tx, { executionId: execution.id, key, outcome: progress.outcome });
    hints.push(...(progress.hints ?? []), { queue: 'executions', executionId: execution.id, key });
  }
  return hints;
}
