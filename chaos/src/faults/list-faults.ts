import { burdens } from './burdens.js';
import { createClockFaults } from './clocks.js';
import { createCrowd } from './crowd.js';
import type { Fault } from './fault.js';
import { lateTimers } from './late-timers.js';
import { networkFaults } from './network.js';
import { processFaults } from './processes.js';
import { sabotages } from './sabotage.js';
import { createSilentTarget } from './silent-target.js';

/** Returns the faults that `only` names, or all faults that apply to the queue. Throws for a name that no fault has. */
export function listFaults(queue: 'redis' | 'postgres', only: readonly string[] = []): Fault[] {
  const all = [
    ...networkFaults,
    createSilentTarget(),
    createCrowd(),
    ...processFaults,
    lateTimers,
    ...createClockFaults(),
    ...burdens,
  ];
  if (only.length === 0) return all.filter(({ redis }) => !redis || queue === 'redis');
  return only.map((name) => {
    const found = [...all, ...sabotages].find((each) => each.name === name);
    if (!found) throw new Error(`There is no fault "${name}"; --list names all of them`);
    return found;
  });
}
