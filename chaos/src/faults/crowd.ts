import type { AccessRequest } from '../history.js';
import type { Person } from '../load/person.js';
import { crowds } from '../stage/names.js';
import type { Fault } from './fault.js';
import { inLines } from './in-lines.js';

const patience = 60_000;
/** How many of the roles each debtor requests in the short form. */
const few = 1;
/** How many requests are granted at a time. */
const lines = 2;
/** The states of a request before it is active. */
const early = ['running', 'granting'];
/** How long after the last grant the end should be, in milliseconds. */
const margin = 2_000;

interface Asked {
  person: Person;
  request: AccessRequest;
}

/** Returns a fault in which much access at one target ends in the same second. */
export function createCrowd(): Fault {
  let asked: Asked[] = [];
  return {
    name: 'many-ends',
    does: 'access to 100 roles of one target ends in the same second, to 5,000 in the long form',
    scope: { target: 'one' },
    momentary: true,
    workers: true,
    /** Resolves when the access ends, because the time for the revocations counts from then. */
    async prepare({ debtors, wait }, stretch) {
      const wanted = crowds.slice(0, stretch > 1 ? crowds.length : few);
      const [first, ...others] = wanted.flatMap((role) => debtors.map((person) => ({ person, role })));
      if (!first) return;
      // How long the last grant took on this machine. The first is only made to measure this, and is given back.
      let pace = 0;
      const grant = async (person: Person, role: string, end: number): Promise<Asked> => {
        const sentAt = Date.now();
        // The duration counts from when the access is active, so the expected time of the grant is subtracted.
        const request = await person.request(role, Math.max(1_000, Math.round(end - pace - sentAt)) / 1_000);
        let state = await person.read(request, 'active');
        while (early.includes(state) && Date.now() < sentAt + patience) state = await person.read(request, 'active');
        pace = Date.now() - sentAt;
        return { person, request };
      };
      const measured = await grant(first.person, first.role, Date.now() + patience);
      await first.person.giveBack(measured.request);
      await first.person.follow(measured.request, patience);
      const end = Date.now() + margin + pace * (others.length + 1);
      asked = [measured];
      await inLines([...others, first], lines, async ({ person, role }) => {
        asked.push(await grant(person, role, end));
      });
      await wait(end - Date.now());
    },
    run: async () => ({ after: inLines(asked, 25, ({ person, request }) => person.follow(request, patience)) }),
  };
}
