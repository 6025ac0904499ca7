import type { ExecutionStatus } from '@belay/db';

const final: readonly string[] = ['completed', 'faulted', 'cancelled', 'terminated'] satisfies ExecutionStatus[];

/** Returns whether an execution with this status has ended. */
export function isFinal(status: string): boolean {
  return final.includes(status);
}
