// Loads every file of the given bundles except the program itself. Writes as JSON the files that cannot be loaded, the
// files that export nothing but a default, and the exports of the files of undici.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const failed = [];
const hollow = [];
const names = {};
for (const folder of process.argv.slice(2)) {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.js') && file !== 'main.js');
  for (const file of files) {
    try {
      const exported = Object.keys(await import(pathToFileURL(join(folder, file)).href));
      if (exported.join() === 'default') hollow.push(file);
      names[file] = exported;
    } catch (error) {
      failed.push(`${file}: ${error.message}`);
    }
  }
}
process.stdout.write(
  JSON.stringify({ failed, hollow, undici: Object.entries(names).filter(([file]) => /^undici-/.test(file)) }),
);
process.exit(0);
