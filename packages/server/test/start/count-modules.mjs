import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { createRequire } from 'node:module';

// Loaded before the program: appends the address of every module that is loaded afterwards to the file of MODULES. The inspector
// reports each script when it is compiled. This is faster than hooks of the loader, which need their own thread.
const write = (url) => appendFileSync(process.env.MODULES ?? '', `${url}\n`);
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  if (url.startsWith('file:')) write(url);
});
session.post('Debugger.enable');
// The inspector does not report JSON files that CommonJS modules require.
const { cache } = createRequire(import.meta.url);
process.on('exit', () => {
  for (const path of Object.keys(cache)) write(`file://${path}`);
});
