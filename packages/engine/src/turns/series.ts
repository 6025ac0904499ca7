import type { Database } from '@belay/db';
import type { EngineStore, PreparedMove } from '../ports.js';
import type { Snapshot } from '../steps/snapshot.js';
import { turnJob } from '../steps/turn-row.js';
import type { Decided } from './decide-turn.js';
import { isFollowed } from './prepared.js';

/** The turns of one execution that this process takes one after the other. */
export interface Series {
  /** The rest of a computation that this process has claimed for its next turn. */
  held: { key: string; claimId: string } | null;
  /** Whether another turn follows: something is left, or something became ready during the current turn. */
  continues: boolean;
  /** Returns whether this process may take the next turn too. */
  mayKeep(): boolean;
}

const current = new WeakMap<Database, Map<string, Series>>();

/** Returns whether this process takes a turn of the execution now. */
export function isTaken({ db }: Pick<EngineStore, 'db'>, executionId: string): boolean {
  return current.get(db)?.has(executionId) ?? false;
}

/**
 * Does work that takes turns of an execution, unless this process does so already: then returns null, and another turn follows the
 * current one. Several turns at the same time would compute the same, and only one of them would be written. With `keep`, the process
 * takes the next turn too while no other step waits for its place.
 */
export async function inSeries<T>(
  ctx: EngineStore,
  { executionId, keep }: { executionId: string; keep: boolean },
  work: (series: Series) => Promise<T>,
): Promise<T | null> {
  const all = current.get(ctx.db) ?? new Map<string, Series>();
  current.set(ctx.db, all);
  const other = all.get(executionId);
  if (other) {
    other.continues = true;
    return null;
  }
  const mayKeep = () => keep && ctx.waker.isWanted?.({ queue: 'executions' }) === false;
  const series: Series = { held: null, continues: false, mayKeep };
  all.set(executionId, series);
  try {
    return await work(series);
  } finally {
    all.delete(executionId);
    if (series.continues) ctx.waker.wake([turnJob(executionId)]);
  }
}

/** Notes whether another turn follows a move that was written. With `kept`, this process takes what is left. */
export function follow(
  series: Series | undefined,
  { decided, move, kept }: { decided: Decided; move: PreparedMove; kept: boolean },
): void {
  if (!series) return;
  const wasHeld = series.held !== null;
  series.held = kept && move.claimed ? { key: move.claimed.key, claimId: move.claimed.id } : null;
  // While a process holds a computation, the others leave to it what becomes ready: also during its last turn, which has not read it.
  if (isFollowed(decided) ? kept : wasHeld) series.continues = true;
}

/**
 * Returns whether a turn must be left to another process: one that holds a computation of the execution takes its next turn at once,
 * and applies everything that is ready. `lost`: another move was written first. What it left has a job of its own.
 */
export function givesWay(snapshot: Snapshot, series: Series | undefined, lost: boolean): boolean {
  const held = snapshot.steps.flatMap(({ kind, heldBy }) => (kind === 'timer' && heldBy !== null ? [heldBy] : []));
  if (held.length > 0) return !held.some((claimId) => claimId === series?.held?.claimId);
  return lost && isOnlyLeft(snapshot);
}

/** Returns whether nothing is ready but the rest of computations. */
function isOnlyLeft({ steps, turn, now, cancelRequestedAt, state }: Snapshot): boolean {
  if (turn !== null || (cancelRequestedAt !== null && !state?.cancelling)) return false;
  const ready = steps.filter(({ outcomeAt, dueAt }) => outcomeAt !== null || (dueAt !== null && dueAt <= now));
  return ready.length > 0 && ready.every(({ key }) => key.endsWith(':continue'));
}
