import { openPostgres } from '../postgres.js';
import { type Cost, countingSettings, openCostMeter } from './cost.js';
import { type Runner, startRunner } from './process.js';
import type { Order } from './serve.js';

/** A program that is measured, with a database of its own. */
export interface Entrant {
  name: string;
  database: string;
  file: string;
}

/** The figures of an entrant; costs are averages for one elevation. */
export interface Measured {
  name: string;
  /** Elevations of each round per second, in order. */
  rounds: number[];
  cost: Cost;
  /** Milliseconds of processor time that the program needs for an elevation, without PostgreSQL. */
  node: number;
}

export interface Arena {
  /** Has each of these entrants carry out the order once in each round: while one works, the others are idle. */
  takeTurns(names: readonly string[], order: Order, rounds: number): Promise<Measured[]>;
  close(): Promise<void>;
}

/** Starts all entrants on one durable PostgreSQL, each in a process of its own. */
export async function openArena(entrants: readonly Entrant[], people: number): Promise<Arena> {
  const postgres = await openPostgres(countingSettings);
  const runners = new Map<string, { entrant: Entrant; runner: Runner }>();
  const close = async () => {
    for (const { runner } of runners.values()) await runner.stop();
    await postgres.stop();
  };
  try {
    for (const entrant of entrants) {
      const runner = await startRunner(entrant.file, await postgres.database(entrant.database), people);
      runners.set(entrant.name, { entrant, runner });
    }
    const meter = await openCostMeter(await postgres.database('meter'));
    return {
      async takeTurns(names, order, rounds) {
        const taking = [...runners.values()].filter(({ entrant }) => names.includes(entrant.name));
        const totals = taking.map(() => ({
          elevations: 0,
          node: 0,
          rates: [] as number[],
          cost: { statements: 0, commits: 0, walBytes: 0, processor: 0 },
        }));
        for (const { runner } of taking) await runner.run({ ...order, least: 3, milliseconds: 0 });
        for (let round = 0; round < rounds; round += 1) {
          for (let turn = 0; turn < taking.length; turn += 1) {
            // Each round begins with another entrant, so that the order favours none of them.
            const index = (round + turn) % taking.length;
            const [one, total] = [taking[index], totals[index]];
            if (!one || !total) continue;
            await meter.begin();
            const done = await one.runner.run(order);
            const cost = await meter.end(one.entrant.database);
            total.elevations += done.elevations;
            total.node += done.processor;
            total.rates.push((1000 * done.elevations) / done.milliseconds);
            for (const key of costs) total.cost[key] += cost[key];
          }
        }
        return taking.map(({ entrant: { name } }, index) => {
          const { elevations = 1, node = 0, rates = [], cost } = totals[index] ?? {};
          const each = (key: keyof Cost) => (cost?.[key] ?? Number.NaN) / elevations;
          return {
            name,
            rounds: rates,
            node: node / elevations,
            cost: {
              statements: each('statements'),
              commits: each('commits'),
              walBytes: each('walBytes'),
              processor: each('processor'),
            },
          };
        });
      },
      async close() {
        await meter.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const costs = ['statements', 'commits', 'walBytes', 'processor'] as const;

/** Returns the median of the ratios of rounds, of which each was played by both. */
export function medianRatio(rates: readonly number[], others: readonly number[]): number {
  return median(rates.map((rate, round) => rate / (others[round] ?? Number.NaN)));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
