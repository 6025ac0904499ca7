import { fixed, table } from '../markdown.js';
import type { SectionOptions, Write } from '../section.js';
import { tasksOf } from '../shapes.js';
import { compareElevations } from './compare.js';
import { median, medianRatio } from './turns.js';

/** Prints a table for each shape. */
export function printCompared(
  write: Write,
  { quick, shapes, rounds, beside, before, beforeFolder }: SectionOptions,
): Promise<void> {
  const options = {
    shapes,
    people: 48,
    rounds: rounds ?? (quick ? 2 : 8),
    milliseconds: quick ? 2_000 : 5_000,
    alone: quick ? 20 : 100,
    beside,
    before,
    beforeFolder,
  };
  const costs = ['Statements', 'Commits', 'WAL bytes', 'Node, ms', 'PostgreSQL, ms'];
  const head = ['', 'Alone: statements', 'Alone: commits', 'Rate', 'Rounds', 'Belay is', ...costs];
  return compareElevations(options, (shape, compared) => {
    const [belay] = compared;
    const rows = compared.map(({ name, alone, together: { rounds: rates, cost, node } }) => [
      name,
      fixed(alone.cost.statements, 1),
      fixed(alone.cost.commits, 1),
      `${fixed(median(rates))}/s`,
      `${fixed(Math.min(...rates))} to ${fixed(Math.max(...rates))}`,
      name === belay?.name ? '' : `${fixed(medianRatio(belay?.together.rounds ?? [], rates), 2)} ×`,
      fixed(cost.statements, 1),
      fixed(cost.commits, 1),
      fixed(cost.walBytes),
      fixed(node, 2),
      fixed(cost.processor, 2),
    ]);
    write(`#### \`${shape}\`: ${tasksOf[shape]}, then given back and verified gone\n\n${table(head, rows)}\n`);
  });
}
