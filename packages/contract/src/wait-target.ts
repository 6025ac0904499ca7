import type { Execution, ExecutionState, WaitTarget } from './executions.js';

/** The states before each target, except for `completed`. A request that has ended has nothing to wait for. */
const before: Readonly<Record<Exclude<WaitTarget, 'completed'>, readonly ExecutionState[]>> = {
  approval: ['running'],
  decision: ['running', 'waiting_for_approval'],
  active: ['running', 'waiting_for_approval', 'granting'],
  ended: ['running', 'waiting_for_approval', 'granting', 'active', 'ending'],
};
const final: readonly Execution['status'][] = ['completed', 'faulted', 'cancelled', 'terminated'];

/** Returns whether a request has reached what a caller waits for, or can never reach it any more. */
export function hasReached(until: WaitTarget, { state, status }: Pick<Execution, 'state' | 'status'>): boolean {
  return until === 'completed' ? final.includes(status) : !before[until].includes(state);
}
