import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { sections } from './sections.js';

/**
 * Prints the figures of docs/benchmarks.md as Markdown: all of them, or the named sections. `quick` measures for a few seconds only,
 * so its figures are not reliable; `--before <revision>` measures an older Belay in the rounds of `compare`.
 */
const { positionals, values } = parseArgs({ allowPositionals: true, options: { before: { type: 'string' } } });
const write = (text = '') => void process.stdout.write(`${text}\n`);
const names = positionals.filter((word) => word !== 'quick');
const unknown = names.find((name) => !(name in sections));
if (unknown !== undefined) {
  process.stderr.write(`${unknown} is not a benchmark; known: quick, ${Object.keys(sections).join(', ')}\n`);
  process.exit(2);
}

write(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`);
for (const [name, { title, print }] of Object.entries(sections)) {
  if (names.length > 0 && !names.includes(name)) continue;
  write(`\n## ${title}\n`);
  await print(write, { quick: positionals.includes('quick'), before: values.before });
}
// Handles that a library keeps open must not keep the process alive.
process.exit(0);
