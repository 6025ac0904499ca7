import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textsOf } from './english.mjs';

// Prints every text that people see, by file, so that all can be read as a list: errors, log lines, help, descriptions, pages.

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Packages that only developers run. */
const developers = /^packages\/(targets|testkit)\/|\/testkit\//;

const files = ['apps', 'packages']
  .flatMap((top) => readdirSync(join(root, top), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .filter((path) => /^(apps|packages)\/[^/]+\/src\//.test(path) && !developers.test(path))
  .sort();
let count = 0;
for (const path of files) {
  const texts = textsOf(path, readFileSync(join(root, path), 'utf8'));
  if (texts.length === 0) continue;
  count += texts.length;
  console.log(`\n${path}`);
  for (const { line, text } of texts) console.log(`${String(line).padStart(5)}  ${text}`);
}
console.log(`\n${count} texts`);
