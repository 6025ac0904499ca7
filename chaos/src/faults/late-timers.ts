import type { AccessRequest } from '../history.js';
import type { Person } from '../load/person.js';
import { races } from '../stage/names.js';
import type { Fault } from './fault.js';

const patience = 30_000;

/** Races timers of 100 ms against timers of a second while no worker runs, until both are over. */
export const lateTimers: Fault = {
  name: 'timers-late',
  does: 'SIGSTOP of all workers while short timers race longer ones, until both are over, then SIGCONT',
  scope: 'everything',
  workers: true,
  async run({ stage, debtors, wait }, stretch) {
    const asked: { person: Person; request: AccessRequest }[] = [];
    const ask = async (roles: readonly string[]) => {
      const all = debtors.flatMap((person) => roles.map((role) => ({ person, role })));
      const sent = all.map(async ({ person, role }) => ({ person, request: await person.request(role, 1) }));
      asked.push(...(await Promise.all(sent)));
    };
    const half = races.length / 2;
    // A worker may have begun these races before it is stopped.
    await ask(races.slice(0, half));
    for (const worker of stage.workers) worker.signal('SIGSTOP');
    try {
      await ask(races.slice(half));
      await wait(3_000 * stretch);
    } finally {
      for (const worker of stage.workers) worker.signal('SIGCONT');
    }
    return { after: Promise.all(asked.map(({ person, request }) => person.follow(request, patience))) };
  },
};
