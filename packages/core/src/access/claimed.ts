import type { Named, Pin } from '@belay/providers';
import type { Remembered } from './history/memory.js';

/**
 * An execution that waits for a call. For a grant call: also its step, which has no other grant, and the duration of
 * the grant in milliseconds.
 */
export type Concern = { executionId: string; grant: { stepKey: string; duration: number } | null };

/** An entitlement that was claimed and needs no call. */
export type Resting = Pick<Claimed, 'id' | 'provider'> & { task: 'rest' };

/** An entitlement whose lease this process holds, and the call that it is about to make. */
export interface Claimed {
  id: string;
  provider: string;
  pin: Pin;
  /** Every name that was committed with it since it was last absent: never the labels of the row. */
  names: readonly Named[];
  /** The name that was committed with the latest live grant: what a grant call makes. For a revocation, the latest of `names`. */
  name: Named;
  fence: number;
  /** When the latest grant call was claimed: the connector's `generation`. Null when there was none. */
  generation: string | null;
  /** How many grant calls are open, this one included: see `EntitlementFacts`. */
  openCalls: number;
  /** What an operator has accepted that a revocation leaves, in the words of `LeftToOthers`. */
  accepted: string | null;
  failures: number;
  /** When this claim was made, by the database's clock: R5 counts it as the start of the call. */
  startedAt: Date;
  task: 'grant' | 'revoke';
  until: Date;
  /**
   * The one execution that waits for this call, when there is exactly one: its next move can be recorded together with
   * the call's result.
   */
  concern: Concern | null;
  /** What is remembered of the history of the target, by which its server is judged (R7). */
  remembered: Remembered;
  /** When this process started to claim, by its own clock: the lease ends no earlier than `timing.lease` after this. */
  claimingAt: number;
}
