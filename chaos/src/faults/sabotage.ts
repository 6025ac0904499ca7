import { onConnection } from '../stage/postgres.js';
import type { Fault } from './fault.js';

const patience = 60_000;

/** Faults that Belay cannot repair, so that the judge has to report them. They are only injected when `--only` names them. */
export const sabotages: Fault[] = [
  {
    name: 'sabotage-held-by-hand',
    does: 'grants a role at the target that was not requested',
    scope: 'nothing',
    async run({ stage }) {
      await onConnection(stage.targetServer.url('postgres'), (sql) => sql`grant chaos_one to burden`);
      return undefined;
    },
  },
  {
    name: 'sabotage-longer-wins',
    does: 'a race of timers in which the longer one takes the place of the shorter',
    scope: 'nothing',
    async run({ debtors: [person] }) {
      const request = await person?.request('unfair', 1);
      return request && { after: person?.follow(request, patience) ?? Promise.resolve() };
    },
  },
  {
    name: 'sabotage-late-beside-burden',
    does: 'a request beside a burden, which computes for longer than a grant may take',
    scope: 'nothing',
    async run({ debtors: [person] }) {
      const request = await person?.request('delayed', 1);
      return request && { after: person?.follow(request, patience) ?? Promise.resolve() };
    },
  },
  {
    name: 'sabotage-workers-stopped',
    does: 'stops every worker for ever',
    scope: 'nothing',
    async run({ stage, wait }) {
      for (const worker of stage.workers) worker.signal('SIGSTOP');
      await wait(5_000);
      return undefined;
    },
  },
];
