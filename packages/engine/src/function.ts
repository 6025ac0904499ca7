import type { Json, Outcome } from '@belay/workflow';
import type { Context } from '../context.js';
import type { ElevationInput } from '../elevation/input.js';
import type { PreparedMove } from '../executions/runtime/prepared.js';

/** A call that this process holds the lease of. */
export interface ClaimedCall {
  executionId: string;
  key: string;
  /** The ids of what this process has claimed for it, by which that is given back when the database goes away. */
  claimIds: readonly string[];
  /** The fence: whoever has a higher one has taken the call over. */
  attempt: number;
  name: string;
  with: Json;
  /** The workflow that the request was made through. */
  workflow: string;
  input: ElevationInput;
  ownerId: string;
  /** The move that opens the call, while it is not written: the function's own commit does, or whoever performs it. */
  pending?: PreparedMove | undefined;
}

/**
 * How a call came out: an outcome for the machine; `parked`, when the function has written down what it waits for; or
 * `again` later, with what is the matter now in words for the person who waits.
 */
export type Performed =
  | { kind: 'outcome'; outcome: Outcome }
  | { kind: 'parked' }
  | { kind: 'again'; after: number; because: string };

/** A function that a workflow can call (design §16). */
export interface CallFunction {
  /** Whether it writes the move that opens its call with its own commit, and changes nothing outside before that. */
  joins?: true;
  /** The systems that it may ask, by name: it takes a place at each of them, so that one that is silent holds up its own only. */
  asks?(call: ClaimedCall): readonly string[];
  /** Does it, outside any transaction, under the lease. Repeats are normal: it must converge. */
  perform(ctx: Context, call: ClaimedCall, signal: AbortSignal): Promise<Performed>;
}

export const parked: Performed = { kind: 'parked' };

export function done(value: Json): Performed {
  return { kind: 'outcome', outcome: { ok: true, value } };
}
