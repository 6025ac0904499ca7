import { decideApproval, requestElevation, returnAccess } from '@belay/core';
import { isApproved, type Shape } from '../shapes.js';
import { listenToApprovals } from './approvals.js';
import type { Belay, Person } from './open.js';
import { listenToRecords } from './records.js';

/** Performs one complete elevation; `act` is called before each act of a person. */
export type Elevate = (
  person: Person,
  shape: Shape,
  act?: (act: 'request' | 'decision' | 'return') => void,
) => Promise<void>;

/**
 * Makes a function that performs one complete elevation: requested, approved where the shape has an approval, recorded as active,
 * given back, recorded as gone.
 */
export function elevations(belay: Belay): Elevate {
  const next = listenToRecords(belay);
  const opened = listenToApprovals(belay);
  return async (person, shape, act = () => {}) => {
    const active = next(person.actor.email);
    act('request');
    const { output } = await requestElevation(person, { role: 'reader', workflow: shape, reason: 'a benchmark' });
    const { execution_id: id } = output;
    if (isApproved(shape)) {
      await opened(id);
      act('decision');
      await decideApproval(belay.approverOf(person), { id, verdict: 'approve', via: 'api' });
    }
    await active;
    const gone = next(person.actor.email);
    act('return');
    await returnAccess(person, { execution_id: id });
    await gone;
  };
}
