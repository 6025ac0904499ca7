import type { FaultWindow, Scope } from '../history.js';
import { bounds } from './bounds.js';

/** Returns whether a fault of this scope may be the reason that work at a target is late. */
export function touches(scope: Scope, target: string): boolean {
  return typeof scope === 'string' ? scope !== 'nothing' : scope.target === target;
}

/**
 * Returns the faults that were active, or had just been healed, between the time that work at a target was due and the time that it
 * was done.
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
 * Returns the time by which work at a target has to be done: `late` milliseconds after it is due, or later because of faults. A fault
 * that began after the time that was allowed until then does not count.
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
    // The process that is gone can only have leased work that was in progress, and only for as long as a lease lasts.
    if (!lease || requestedAt > from + bounds.leased || done < from || due > Math.max(from + bounds.lease, healed))
      continue;
    latest = Math.max(latest, Math.max(due, from) + bounds.lease);
  }
  return latest;
}
