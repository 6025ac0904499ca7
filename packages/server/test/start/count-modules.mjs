import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';

// Loaded before the program: writes the address of every module that is loaded from then on into the file of MODULES. The
// inspector names each script when it is compiled; hooks of the loader have a thread of their own, which takes longer.
const write = (url) => appendFileSync(process.env.MODULES ?? '', `${url}\n`);
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  if (url.startsWith('file:')) write(url);
});
session.post('Debugger.enable');
// JSON that CommonJS modules require is no script.
const { cache } = createRequire(import.meta.url);
process.on('exit', () => {
  for (const path of Object.keys(cache)) write(`file://${path}`);
});
