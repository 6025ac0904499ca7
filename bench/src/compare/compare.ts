import { fileURLToPath } from 'node:url';
import type { Shape } from '../shapes.js';
import { buildOlder } from './older.js';
import { type Entrant, type Measured, openArena } from './turns.js';

export interface CompareOptions {
  shapes: readonly Shape[];
  people: number;
  rounds: number;
  /** The length of each contender's turn in a round. */
  milliseconds: number;
  /** How many elevations the single person performs. */
  alone: number;
  /** A git revision of Belay to measure in the same rounds, and the folder in which it is kept, if any. */
  before?: string | undefined;
  beforeFolder?: string | undefined;
  /** The contenders beside Belay; all of them when absent. */
  beside?: readonly string[] | undefined;
}

export interface Compared {
  shape: Shape;
  name: string;
  /** What an elevation costs when one person performs one after the other, and nothing else happens. */
  alone: Measured;
  /** The rounds of all people together. */
  together: Measured;
}

/** The contenders by which Belay is measured, as `--beside` names them. */
export const contenders = ['before', 'dbos', 'by-hand'] as const;

/**
 * Measures Belay beside the same elevation on DBOS, the same rows written by hand (of the shape `grant` only) and, with `before`, an
 * older Belay, shape after shape. Calls `done` with the figures of each shape. All use one durable PostgreSQL, each with its own database
 * and process, and take turns.
 */
export async function compareElevations(
  options: CompareOptions,
  done: (shape: Shape, compared: readonly Compared[]) => void,
): Promise<void> {
  const { before, beforeFolder, beside = contenders, people, rounds, milliseconds } = options;
  const older = before === undefined || !beside.includes('before') ? undefined : await buildOlder(before, beforeFolder);
  const program = (name: string) => fileURLToPath(new URL(`../contenders/${name}.js`, import.meta.url));
  const entrants: Entrant[] = [{ name: 'Belay', database: 'belay', file: program('belay') }];
  if (older) {
    entrants.push({ name: `Belay ${before}`, database: 'before', file: `${older.programs}/contenders/belay.js` });
  }
  if (beside.includes('dbos')) entrants.push({ name: 'DBOS', database: 'dbos', file: program('dbos') });
  const byHand: Entrant = { name: 'By hand', database: 'by_hand', file: program('by-hand') };
  if (beside.includes('by-hand') && options.shapes.includes('grant')) entrants.push(byHand);
  try {
    const arena = await openArena(entrants, people);
    try {
      for (const shape of options.shapes) {
        const names = entrants.filter((one) => one !== byHand || shape === 'grant').map(({ name }) => name);
        const order = { shape, people, least: 1, milliseconds };
        const alone = await arena.takeTurns(names, { ...order, people: 1, least: options.alone, milliseconds: 0 }, 1);
        const together = await arena.takeTurns(names, order, rounds);
        done(
          shape,
          together.map((one, index) => ({ shape, name: one.name, together: one, alone: alone[index] ?? one })),
        );
      }
    } finally {
      await arena.close();
    }
  } finally {
    await older?.remove();
  }
}
