import { appendFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';

// Loaded before the program: writes the address of every module that is loaded from then on into the file of MODULES.
const hooks = `import { appendFileSync } from 'node:fs';
export async function load(url, context, next) {
  if (url.startsWith('file:')) appendFileSync(${JSON.stringify(process.env.MODULES)}, url + '\\n');
  return next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
// What CommonJS modules require does not pass the hooks.
const { cache } = createRequire(import.meta.url);
process.on('exit', () => {
  for (const path of Object.keys(cache)) appendFileSync(process.env.MODULES ?? '', `file://${path}\n`);
});
