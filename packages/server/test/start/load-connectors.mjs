// Makes a client of every connector that MADE names, with its configuration, one after the other. Before each it writes
// `made <type>` into the file of MODULES, between the addresses that count-modules.mjs writes.
import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connectors } from '@belay/operations';

const note = (line) => appendFileSync(process.env.MODULES, `${line}\n`);
const { cache } = createRequire(import.meta.url);
for (const [type, config] of JSON.parse(process.env.MADE)) {
  note(`made ${type}`);
  const connector = connectors.get(type);
  const client = await connector.create(connector.config.parse(config), { now: Date.now, log: () => {} });
  // What CommonJS modules require does not pass the hooks.
  for (const path of Object.keys(cache)) note(`file://${path}`);
  await client.close();
}
