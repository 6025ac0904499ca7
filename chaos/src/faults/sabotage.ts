import postgres from 'postgres';
import type { Fault } from './fault.js';

/** What no Belay could make good, so that the judge has to find it. Only where `--only` names them. */
export const sabotages: Fault[] = [
  {
    name: 'sabotage-held-by-hand',
    does: 'grants a role at the target that was not requested',
    scope: 'nothing',
    async run({ stage }) {
      const sql = postgres(stage.targetServer.url('postgres'), { max: 1, onnotice: () => {} });
      await sql`grant chaos_one to burden`;
      await sql.end();
      return undefined;
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
