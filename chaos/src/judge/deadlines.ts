import type { FaultWindow, Scope } from '../history.js';
import { bounds } from './bounds.js';

/** Returns whether a fault may be the reason that something at a target is late. */
export function touches(scope: Scope, target: string): boolean {
  return typeof scope === 'string' ? scope !== 'nothing' : scope.target === target;
}

/**
 * Returns the faults that were going on, or had just been healed, between the time that something was due and the time
 * it was done.
 */
export function faultsBetween(
  faults: readonly FaultWindow[],
  target: string,
  due: number,
  done: number,
): FaultWindow[] {
  return faults.filter(
    ({ scope, from, healed }) => touches(scope, target) && from <= done && healed + bounds.afterFault >= due,
  );
}

/**
 * Returns the time by which something that is due has to be done, given when it was requested, what it took, and how late it may
 * be without a fault. A fault that began when that time had passed is no reason.
 */
export function deadline(
  faults: readonly FaultWindow[],
  {
    target,
    due,
    done,
    requestedAt,
    late,
  }: Record<'due' | 'done' | 'requestedAt' | 'late', number> & { target: string },
): number {
  let latest = due + late;
  for (const fault of [...faults].sort((a, b) => a.from - b.from)) {
    const { lease, from, healed } = fault;
    if (from > latest) break;
    if (faultsBetween([fault], target, due, done).length > 0) {
      latest = Math.max(latest, Math.max(due, healed) + bounds.afterFault);
    }
    // Only what was in progress can have been leased by the process that is gone, and only for as long as a lease
    // lasts.
    if (!lease || requestedAt > from + bounds.leased || done < from || due > Math.max(from + bounds.lease, healed))
      continue;
    latest = Math.max(latest, Math.max(due, from) + bounds.lease);
  }
  return latest;
}
