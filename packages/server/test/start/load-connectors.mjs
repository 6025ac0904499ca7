// Creates a client of every connector in MADE, with its configuration, one after the other. Before each client it appends
// `made <type>` to the file of MODULES, between the addresses that count-modules.mjs writes.
import { appendFileSync } from 'node:fs';
import { connectors } from '@belay/operations';

const note = (line) => appendFileSync(process.env.MODULES, `${line}\n`);
for (const [type, config] of JSON.parse(process.env.MADE)) {
  note(`made ${type}`);
  const connector = connectors.get(type);
  const client = await connector.create(connector.config.parse(config), { now: Date.now, log: () => {} });
  await client.close();
}
