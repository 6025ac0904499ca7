import type { Transaction } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import type { Context, Hint } from '../../context.js';
import type { Locked } from '../../executions/runtime/lock.js';

export interface Progress {
  outcome: Outcome;
  /** To be sent after commit. */
  hints?: Hint[];
}

/** For a parked call: whether it can be resolved by now. Touches rows only; the execution's lock is held. */
export type ReadProgress = (ctx: Context, tx: Transaction, execution: Locked, key: string) => Promise<Progress | null>;
