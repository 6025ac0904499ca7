import { fileURLToPath } from 'node:url';
import { buildOlder } from '../compare/older.js';
import { type Entrant, median, medianRatio, openArena } from '../compare/turns.js';
import { fixed, table } from '../markdown.js';
import type { SectionOptions, Write } from '../section.js';
import { tasksOf } from '../shapes.js';

/** How many people elevate at the same time. */
const counts = [1, 8, 32];

/** Prints a table for each shape: elevations over HTTP with a few people and with many, beside an older Belay in the same rounds. */
export async function printOverHttp(write: Write, options: SectionOptions): Promise<void> {
  const { quick, shapes, before, beforeFolder } = options;
  const rounds = options.rounds ?? (quick ? 2 : 8);
  const older = before === undefined ? undefined : await buildOlder(before, beforeFolder);
  const own = fileURLToPath(new URL('../contenders/belay-http.js', import.meta.url));
  const entrants: Entrant[] = [{ name: 'Belay', database: 'belay', file: own }];
  if (older) {
    entrants.push({ name: `Belay ${before}`, database: 'before', file: `${older.programs}/contenders/belay-http.js` });
  }
  const names = entrants.map(({ name }) => name);
  try {
    const arena = await openArena(entrants, Math.max(...counts));
    try {
      for (const shape of shapes) {
        const alone = { shape, people: 1, least: quick ? 20 : 100, milliseconds: 0 };
        const costs = await arena.takeTurns(names, alone, 1);
        const rows: string[][] = [];
        for (const people of counts) {
          const order = { shape, people, least: 1, milliseconds: quick ? 2_000 : 5_000 };
          const measured = await arena.takeTurns(names, order, rounds);
          const [belay] = measured;
          measured.forEach(({ name, rounds: rates, node, cost }, index) => {
            const { statements = Number.NaN, commits = Number.NaN } = costs[index]?.cost ?? {};
            rows.push([
              String(people),
              name,
              ...(people === 1 ? [fixed(statements, 1), fixed(commits, 1)] : ['', '']),
              `${fixed(median(rates), 1)}/s`,
              `${fixed(Math.min(...rates), 1)} to ${fixed(Math.max(...rates), 1)}`,
              index === 0 ? '' : `${fixed(medianRatio(belay?.rounds ?? [], rates), 2)} ×`,
              fixed(cost.statements, 1),
              fixed(cost.commits, 1),
              fixed(node, 2),
              fixed(cost.processor, 2),
            ]);
          });
        }
        const costHead = ['Statements', 'Commits', 'Node, ms', 'PostgreSQL, ms'];
        const head = ['People', '', 'Alone: statements', 'Alone: commits', 'Rate', 'Rounds', 'Belay is', ...costHead];
        write(`#### \`${shape}\`: ${tasksOf[shape]}, then given back and verified gone\n\n${table(head, rows)}\n`);
      }
    } finally {
      await arena.close();
    }
  } finally {
    await older?.remove();
  }
}
