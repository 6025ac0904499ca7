// A program that starts the embedded server from the built files and writes a JSON line about each thing that it did.
// Arguments: the module to import, the options as JSON, and `write` to insert rows until it is killed.
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import postgres from 'postgres';

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const [module, options, write] = process.argv.slice(2);
const { startEmbeddedPostgres } = await import(pathToFileURL(module).href);
const log = (line) => say({ log: line });
try {
  const server = await startEmbeddedPostgres({
    ...JSON.parse(options),
    log,
    randomBytes,
    delay: (ms) => setTimeout(ms),
  });
  say({ started: true, adopted: server.adopted, url: server.url('postgres') });
  createInterface({ input: process.stdin }).on('line', async () => {
    await server.stop();
    say({ stopped: true });
    process.exit(0);
  });
  if (write === 'write') {
    const sql = postgres(server.url('postgres'), { max: 4, onnotice: () => undefined, fetch_types: false });
    await sql`create table if not exists kept (id text primary key)`;
    const insert = async (lane) => {
      for (let count = 1; ; count += 1) {
        const id = `${process.pid}/${lane}/${count}`;
        await sql`insert into kept (id) values (${id})`;
        say({ kept: id });
      }
    };
    await Promise.all([1, 2, 3, 4].map(insert));
  }
} catch (error) {
  say({ code: error.code, message: error.message });
  process.exitCode = 1;
}
