import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { contenders } from './compare/compare.js';
import { sections } from './sections.js';
import { isShape, shapes, usualShapes } from './shapes.js';

/**
 * Prints the figures of docs/benchmarks.md as Markdown: all of them, or the named sections. `quick` measures for a few seconds only, so
 * its figures are not reliable. `--shape` selects the workflow, `--before <revision>` measures an older Belay in the same rounds,
 * `--before-folder` keeps it built there, `--rounds` and `--beside` say how often and beside what, and `--over http` has
 * `statements` record calls over HTTP.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string' },
    'before-folder': { type: 'string' },
    beside: { type: 'string' },
    over: { type: 'string' },
    rounds: { type: 'string' },
    shape: { type: 'string' },
  },
});
const write = (text = '') => void process.stdout.write(`${text}\n`);
const names = positionals.filter((word) => word !== 'quick');
const unknown = names.find((name) => !(name in sections));
if (unknown !== undefined) refuse(`${unknown} is not a benchmark; known: quick, ${Object.keys(sections).join(', ')}`);
const chosen = values.shape?.split(',') ?? usualShapes;
if (!chosen.every(isShape)) refuse(`--shape: must be some of ${shapes.join(', ')}, separated by commas`);
const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))
  refuse('--rounds: must be a whole number above 0');
const beside = values.beside?.split(',');
if (beside?.some((name) => !contenders.some((known) => known === name))) {
  refuse(`--beside: must be some of ${contenders.join(', ')}, separated by commas`);
}
const { over = 'core' } = values;
if (over !== 'core' && over !== 'http') refuse('--over: must be core or http');

write(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`);
for (const [name, { title, print, named }] of Object.entries(sections)) {
  if (names.length > 0 ? !names.includes(name) : named) continue;
  write(`\n## ${title}\n`);
  await print(write, {
    quick: positionals.includes('quick'),
    shapes: chosen.filter(isShape),
    over,
    rounds,
    beside,
    before: values.before,
    beforeFolder: values['before-folder'],
  });
}
// Handles that a library keeps open must not keep the process alive.
process.exit(0);

function refuse(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
