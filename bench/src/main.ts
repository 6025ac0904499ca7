import { cpus } from 'node:os';
import { measureAgent } from './agent.js';
import { measureElevations, type Throughput } from './elevations.js';
import { type Latency, measureLatency } from './latency.js';
import { startRedis } from './redis.js';
import { measureRolesRatio } from './roles-ratio.js';
import type { Spread } from './spread.js';

/** Prints every figure of docs/benchmarks.md. `quick` takes seconds and says little. */
const quick = process.argv.includes('quick');
const write = (line = '') => process.stdout.write(`${line}\n`);
const round = (value: number, digits = 0) => value.toFixed(digits);

write(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`);

write('\n(a) an authenticated GET /api/v1/roles, against a bare Express route that answers the same bytes');
for (const together of [8, 32]) {
  const roles = await measureRolesRatio({ turns: quick ? 3 : 9, requests: quick ? 500 : 3_000, together });
  const rates = `${round(roles.belayPerSecond)}/s against ${round(roles.barePerSecond)}/s, ${roles.bytes} bytes`;
  write(`    ${String(together).padStart(2)} connections  ratio ${round(roles.ratio, 2)}  (${rates})`);
}

const redis = await startRedis(process.env.REDIS_URL);
const backends = [
  { name: 'PostgreSQL', redis: {} },
  ...(redis ? [{ name: 'Redis', redis: { redisUrl: redis.url } }] : []),
];
if (!redis) write('\nThere is no redis-server on the path and no REDIS_URL: only the PostgreSQL backend is measured');

write('\n(b) complete elevations: asked, granted, recorded as active, given back, recorded as gone');
for (const backend of backends) {
  printThroughput(
    backend.name,
    await measureElevations({ together: 48, milliseconds: quick ? 2_000 : 15_000, ...backend.redis }),
  );
}

write('\n(c) approve → active, and expiry → gone, in milliseconds');
for (const backend of backends) {
  for (const local of [true, false]) {
    const name = `${backend.name}, worker ${local ? 'in the same process' : 'reached through the queue'}`;
    printLatency(name, await measureLatency({ people: 8, rounds: quick ? 2 : 12, local, ...backend.redis }));
  }
}
await redis?.stop();

write('\n(d) an agent: from the start of its process to its first answer, and resident memory');
const agent = await measureAgent({ starts: quick ? 3 : 15, requests: 1_000 });
write(`    first answer after ${describeSpread(agent.start)} milliseconds`);
write(
  `    ${round(agent.memoryAtStart)} MB at first, ${round(agent.memoryAfterRequests)} MB after ${agent.requests} requests`,
);

function printThroughput(name: string, measured: Throughput): void {
  write(
    `    ${name.padEnd(12)} ${round(measured.perSecond)}/s, ${round(measured.commits, 1)} commits and ${round(measured.statements)} statements each`,
  );
}

function printLatency(name: string, measured: Latency): void {
  write(`    ${name}`);
  write(`        approve → active  ${describeSpread(measured.approveToActive)}`);
  write(`        expiry → gone     ${describeSpread(measured.expiryToGone)}`);
}

function describeSpread(spread: Spread): string {
  return `p50 ${round(spread.p50)}  p99 ${round(spread.p99)}  max ${round(spread.max)}  (${spread.count} samples)`;
}
