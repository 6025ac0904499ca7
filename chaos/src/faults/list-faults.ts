import { burdens } from './burdens.js';
import { createClockFaults } from './clocks.js';
import type { Fault } from './fault.js';
import { networkFaults } from './network.js';
import { processFaults } from './processes.js';
import { createSilentTarget } from './silent-target.js';

/** Every fault by name, as far as the queue that is used has it. */
export function listFaults(queue: 'redis' | 'postgres'): Fault[] {
  const all = [...networkFaults, createSilentTarget(), ...processFaults, ...createClockFaults(), ...burdens];
  return all.filter(({ redis }) => !redis || queue === 'redis');
}
