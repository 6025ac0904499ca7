import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { listFaults } from './faults/list-faults.js';
import { judge } from './judge/judge.js';
import { describeRun, isHeld } from './report.js';
import { runChaos } from './run.js';
import { createRandom } from './seed.js';
import { hasRedis } from './stage/redis.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string' },
    queue: { type: 'string' },
    people: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
    times: { type: 'string', default: 'held' },
    list: { type: 'boolean', default: false },
  },
});
const say = (line = '') => void process.stdout.write(`${line}\n`);
const queue =
  values.queue === 'postgres' || values.queue === 'redis' ? values.queue : hasRedis() ? 'redis' : 'postgres';
if (values.list) {
  for (const { name, does } of listFaults('redis')) say(`${name.padEnd(28)}${does}`);
  process.exit(0);
}
if (values.times !== 'held' && values.times !== 'told') {
  process.stderr.write('--times is "held" or "told"\n');
  process.exit(2);
}
const { times } = values;
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort());
const seed = values.seed === undefined ? randomInt(1_000_000) : Number(values.seed);
say(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`);
say(`seed ${seed}: repeat with npm run chaos -- --seed ${seed} --queue ${queue}`);
const { history, folder, close } = await runChaos({
  queue,
  minutes: values.minutes === undefined ? undefined : Number(values.minutes),
  people: Number(values.people),
  only: values.only === '' ? [] : values.only.split(','),
  random: createRandom(seed),
  signal: stopping.signal,
  say,
});
const verdict = judge(history);
const held = isHeld(verdict);
say();
for (const line of describeRun(history, verdict)) say(line);
await close(!held);
if (!held) {
  await writeFile(join(folder, 'history.json'), JSON.stringify(history));
  say(`\nWhat was seen, and the logs of the processes, are in ${folder}`);
}
process.exitCode = isHeld(verdict, times) ? 0 : 1;
