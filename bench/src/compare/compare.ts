import { fileURLToPath } from 'node:url';
import { openPostgres } from '../postgres.js';
import { type Cost, countingSettings, openCostMeter } from './cost.js';
import { buildOlder } from './older.js';
import { type Runner, startRunner } from './process.js';

export interface CompareOptions {
  people: number;
  rounds: number;
  /** The length of each contender's turn in a round. */
  milliseconds: number;
  /** A git revision of Belay to measure in the same rounds. */
  before?: string | undefined;
}

export interface Compared extends Omit<Cost, 'processor'> {
  name: string;
  /** The median of the rounds. The other figures are averages for one elevation, over all rounds. */
  perSecond: number;
  /** Elevations of each round per second, in order. */
  rounds: number[];
  /** Milliseconds of processor time that the program needs for an elevation, without PostgreSQL. */
  processor: number;
  /** Milliseconds of processor time that PostgreSQL needs for an elevation. */
  database: number;
}

interface Entrant {
  name: string;
  database: string;
  file: string;
}

const program = (name: string) => fileURLToPath(new URL(`../contenders/${name}.js`, import.meta.url));

/**
 * Measures Belay beside the same elevation on DBOS, the same rows written by hand and, with `before`, an older Belay. All use one
 * durable PostgreSQL, each with its own database and process, and take turns: while one works, the others are idle.
 */
export async function compareElevations(options: CompareOptions): Promise<Compared[]> {
  const older = options.before === undefined ? undefined : await buildOlder(options.before);
  const entrants: Entrant[] = [
    { name: 'Belay', database: 'belay', file: program('belay') },
    ...(older ? [{ name: `Belay ${options.before}`, database: 'before', file: older.program }] : []),
    { name: 'DBOS', database: 'dbos', file: program('dbos') },
    { name: 'By hand', database: 'by_hand', file: program('by-hand') },
  ];
  const postgres = await openPostgres(countingSettings);
  const runners: Runner[] = [];
  try {
    for (const { file, database } of entrants) {
      runners.push(await startRunner(file, await postgres.database(database), options.people));
    }
    return await takeTurns(entrants, runners, await postgres.database('meter'), options);
  } finally {
    for (const runner of runners) await runner.stop();
    await postgres.stop();
    await older?.remove();
  }
}

async function takeTurns(
  entrants: readonly Entrant[],
  runners: readonly Runner[],
  meterUrl: string,
  { rounds, milliseconds }: CompareOptions,
): Promise<Compared[]> {
  const meter = await openCostMeter(meterUrl);
  const totals = entrants.map(() => ({
    elevations: 0,
    statements: 0,
    commits: 0,
    walBytes: 0,
    processor: 0,
    database: 0,
    rates: [] as number[],
  }));
  try {
    for (const runner of runners) for (let warm = 0; warm < 3; warm += 1) await runner.run(0);
    for (let round = 0; round < rounds; round += 1) {
      for (let turn = 0; turn < entrants.length; turn += 1) {
        // Each round begins with another contender, so that the order favours none of them.
        const index = (round + turn) % entrants.length;
        const [entrant, runner, total] = [entrants[index], runners[index], totals[index]];
        if (!entrant || !runner || !total) continue;
        await meter.begin();
        const done = await runner.run(milliseconds);
        const cost = await meter.end(entrant.database);
        total.elevations += done.elevations;
        total.statements += cost.statements;
        total.commits += cost.commits;
        total.walBytes += cost.walBytes;
        total.processor += done.processor;
        total.database += cost.processor;
        total.rates.push((1000 * done.elevations) / done.milliseconds);
      }
    }
  } finally {
    await meter.close();
  }
  return entrants.map(({ name }, index) => {
    const {
      elevations = 1,
      statements = 0,
      commits = 0,
      walBytes = 0,
      processor = 0,
      database = 0,
      rates = [],
    } = totals[index] ?? {};
    return {
      name,
      perSecond: median(rates),
      rounds: rates,
      statements: statements / elevations,
      commits: commits / elevations,
      walBytes: walBytes / elevations,
      processor: processor / elevations,
      database: database / elevations,
    };
  });
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
