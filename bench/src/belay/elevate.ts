import { requestElevation, returnAccess } from '@belay/core';
import type { Belay, Person } from './open.js';
import { listenToRecords } from './records.js';

/**
 * Makes a function that performs one complete elevation: requested, granted without approval, recorded as active, given
 * back, recorded as gone.
 */
export function elevations(belay: Belay): (person: Person) => Promise<void> {
  const next = listenToRecords(belay);
  return async (person) => {
    const active = next(person.actor.email);
    const { output } = await requestElevation(person, { role: 'reader', workflow: 'automatic', reason: 'a benchmark' });
    await active;
    const gone = next(person.actor.email);
    await returnAccess(person, { execution_id: output.execution_id });
    await gone;
  };
}
