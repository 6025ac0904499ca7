import type { Fault } from './fault.js';

/** Farther than most access of the run lasts. */
const databaseStep = 5_000;
const processStep = 60_000;

/** Clocks that are stepped. A step forward is taken back by the next one, and the other way round. */
export function createClockFaults(): Fault[] {
  const offset = { database: 0, processes: 0 };
  const step = (name: string, does: string, run: Fault['run']): Fault => ({
    name,
    does,
    scope: 'everything',
    momentary: true,
    run,
  });
  const ofDatabase =
    (by: number): Fault['run'] =>
    async ({ stage }) => {
      offset.database += by;
      await stage.stepDatabase(offset.database);
    };
  const ofProcesses =
    (by: number): Fault['run'] =>
    async ({ stage }) => {
      offset.processes += by;
      await stage.stepProcesses(offset.processes);
    };
  return [
    step('database-clock-forward', 'steps the database’s clock forward by 5 s', ofDatabase(databaseStep)),
    step('database-clock-back', 'steps the database’s clock back by 5 s', ofDatabase(-databaseStep)),
    step('process-clock-forward', 'steps the clock of every process forward by a minute', ofProcesses(processStep)),
    step('process-clock-back', 'steps the clock of every process back by a minute', ofProcesses(-processStep)),
  ];
}
