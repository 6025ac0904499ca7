/** The states before each target, except for `completed`. A request that has ended has nothing to wait for. */
const before: Readonly<Record<string, readonly string[]>> = {
  approval: ['running'],
  decision: ['running', 'waiting_for_approval'],
  active: ['running', 'waiting_for_approval', 'granting'],
  ended: ['running', 'waiting_for_approval', 'granting', 'active', 'ending'],
};
const final: readonly string[] = ['completed', 'faulted', 'cancelled', 'terminated'];

/** Returns whether a request has reached what a caller waits for, or can never reach it any more. */
export function hasReached(until: string, { state, status }: { state: string; status: string }): boolean {
  return until === 'completed' ? final.includes(status) : before[until]?.includes(state) !== true;
}
