/**
 * What a caller can wait for: approvers can decide, approvers have decided, access can be used, all access has ended, or the status
 * of the workflow is final. `hasReached` tells.
 */
export const waitTargets = ['approval', 'decision', 'active', 'ended', 'completed'] as const;
export type WaitTarget = (typeof waitTargets)[number];

/** The states before each target, except for `completed`. A request that has ended has nothing to wait for. */
const before: Readonly<Record<Exclude<WaitTarget, 'completed'>, readonly string[]>> = {
  approval: ['running'],
  decision: ['running', 'waiting_for_approval'],
  active: ['running', 'waiting_for_approval', 'granting'],
  ended: ['running', 'waiting_for_approval', 'granting', 'active', 'ending'],
};
const final: readonly string[] = ['completed', 'faulted', 'cancelled', 'terminated'];

/** Returns whether a request has reached what a caller waits for, or can never reach it any more. */
export function hasReached(until: WaitTarget, { state, status }: { state: string; status: string }): boolean {
  return until === 'completed' ? final.includes(status) : !before[until].includes(state);
}
