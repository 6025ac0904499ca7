import type { Fault } from './fault.js';

/** Longer than most access of a run lasts. */
const databaseStep = 5_000;
const processStep = 60_000;

/** Returns faults that step clocks. The steps forward and back of a clock cancel out, in either order. */
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
