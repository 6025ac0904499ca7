import { measureAgent } from './agent.js';
import { printCompared } from './compare/print.js';
import { measureElevations } from './elevations.js';
import { measureExpiry } from './expiry.js';
import { measureBytes } from './growth/bytes.js';
import { measureGrowth } from './growth/growth.js';
import { measureLargeCatalog } from './large-catalog.js';
import { measureLatency } from './latency.js';
import { printLoop } from './loop.js';
import { fixed, spreadCells, table } from './markdown.js';
import { printOverHttp } from './over-http/print.js';
import { measureReady } from './ready.js';
import { startRedis } from './redis.js';
import { measureRolesRatio } from './roles-ratio.js';
import type { Section, Write } from './section.js';
import { printStatements } from './statements.js';
import { measureWatchers } from './watchers.js';

/** Every benchmark by its name on the command line, in the order in which they run. */
export const sections: Readonly<Record<string, Section>> = {
  compare: {
    title: 'Complete elevations, beside DBOS and rows written by hand',
    print: printCompared,
  },
  http: {
    title: 'Complete elevations over HTTP, each step awaited with `until`',
    print: printOverHttp,
  },
  statements: {
    title: 'What one elevation of a single person sends, statement by statement',
    named: true,
    print: printStatements,
  },
  elevations: {
    title: 'Complete elevations on either queue',
    print: (write, { quick, shapes }) =>
      onEachQueue(write, ['Queue', 'Shape', 'Complete elevations', 'Commits', 'Statements'], async (name, redis) => {
        const milliseconds = quick ? 2_000 : 15_000;
        const rows: string[][] = [];
        for (const shape of shapes) {
          const found = await measureElevations({ shape, together: 48, milliseconds, ...redis });
          const { perSecond, commits, statements } = found;
          rows.push([name, `\`${shape}\``, `${fixed(perSecond)}/s`, fixed(commits, 1), fixed(statements, 1)]);
        }
        return rows;
      }),
  },
  loop: {
    title: 'A loop in one execution, beside the state machine alone',
    print: printLoop,
  },
  latency: {
    title: 'How long people wait, and how late access ends, in milliseconds (`approve`)',
    print: (write, { quick }) =>
      onEachQueue(
        write,
        ['Queue, worker', 'Approve → active p50', 'p99', 'worst', 'Expiry → gone p50', 'p99', 'worst'],
        async (name, redis) => {
          const rows: string[][] = [];
          for (const local of [true, false]) {
            const found = await measureLatency({ people: 8, rounds: quick ? 2 : 12, local, ...redis });
            const worker = local ? 'same process' : 'through the queue';
            rows.push([
              `${name}, ${worker}`,
              ...spreadCells(found.approveToActive),
              ...spreadCells(found.expiryToGone),
            ]);
          }
          return rows;
        },
      ),
  },
  expiry: {
    title: 'Expiry in sets: access that ends for many people in the same second, in milliseconds (`grant`)',
    async print(write, { quick }) {
      const rows: string[][] = [];
      for (const [people, silent] of quick
        ? [
            [200, 0],
            [50, 20],
          ]
        : [
            [5_000, 0],
            [100, 100],
          ]) {
        const { gone, stuck } = await measureExpiry({ people: people ?? 0, silent: silent ?? 0 });
        rows.push([String(gone.count), String(stuck), ...spreadCells(gone)]);
      }
      const head = ['Ends at the healthy system', 'Stuck at one that answers nothing', 'Gone p50', 'p99', 'worst'];
      write(table(head, rows));
    },
  },
  catalog: {
    title: 'A catalog of 10,000 roles, in milliseconds',
    async print(write, { quick }) {
      const held = await measureLargeCatalog(quick ? 1_000 : 10_000);
      const rows = held.map(({ what, milliseconds, longest }) => [what, fixed(milliseconds), fixed(longest, 1)]);
      write(table(['', 'Took', 'Held the event loop at most'], rows));
    },
  },
  roles: {
    title: 'An authenticated GET /api/v1/roles, beside a bare Express route that answers the same bytes',
    async print(write, { quick }) {
      const rows: string[][] = [];
      for (const together of [1, 8, 32]) {
        const found = await measureRolesRatio({ turns: quick ? 3 : 9, requests: quick ? 500 : 3_000, together });
        const { belayPerSecond, barePerSecond, ratio, belayProcessor, bareProcessor, bytes } = found;
        rows.push([
          String(together),
          `${fixed(belayPerSecond)}/s`,
          `${fixed(barePerSecond)}/s`,
          fixed(ratio, 2),
          fixed(belayProcessor, 3),
          fixed(bareProcessor, 3),
          String(bytes),
        ]);
      }
      const costs = ['Belay, ms of Node', 'Bare Express, ms of Node'];
      write(table(['Connections', 'Belay', 'Bare Express', 'Ratio', ...costs, 'Bytes'], rows));
    },
  },
  ready: {
    title: 'GET /ready while people read pages and elevate (`grant`), in milliseconds',
    async print(write, { quick }) {
      const found = await measureReady({ readers: 4, people: 8, milliseconds: quick ? 5_000 : 30_000 });
      const { ready, pagesPerSecond, elevationsPerSecond } = found;
      const rates = [pagesPerSecond, elevationsPerSecond].map((rate) => `${fixed(rate)}/s`);
      write(table(['Pages', 'Elevations', 'Ready p50', 'p99', 'worst'], [[...rates, ...spreadCells(ready)]]));
    },
  },
  watchers: {
    title: 'Watchers: event streams on executions that wait (`approve`)',
    async print(write, { quick }) {
      const found = await measureWatchers({
        watchers: quick ? 200 : 2_000,
        milliseconds: quick ? 5_000 : 30_000,
        changesPerSecond: 20,
      });
      const share = (part: number) => `${fixed(100 * part, 1)} %`;
      write(
        table(
          ['Watchers', 'Of a core, at rest', `at ${found.changesPerSecond} changes/s`, 'Delivered'],
          [[String(found.watchers), share(found.atRest), share(found.busy), share(found.delivered)]],
        ),
      );
    },
  },
  growth: {
    title: 'Every list and verb beside few and beside many executions, and what an elevation leaves behind',
    async print(write, { quick, rounds, shapes }) {
      const many = quick ? 20_000 : 1_000_000;
      const grown = await measureGrowth({ few: 1_000, many, rounds: rounds ?? (quick ? 5 : 25) });
      const rows = grown.map(({ verb, items, few, many: late, ratio }) => [
        verb,
        items === null ? '' : String(items),
        fixed(few, 1),
        fixed(late, 1),
        fixed(ratio, 2),
      ]);
      write(table(['', 'Items', '1 000, ms', `${many.toLocaleString('en').replaceAll(',', ' ')}, ms`, 'Ratio'], rows));
      write();
      for (const shape of shapes) {
        const { each, tables } = await measureBytes({ shape, count: quick ? 200 : 1_000 });
        const parts = tables.map(({ name, each: bytes }) => `${name} ${fixed(bytes)}`).join(', ');
        write(`- An elevation of \`${shape}\` leaves ${fixed(each)} bytes in all tables and indexes: ${parts}.`);
      }
    },
  },
  agent: {
    title: 'An agent: from the start of its process to its first answer, and resident memory',
    async print(write, { quick }) {
      const agent = await measureAgent({ starts: quick ? 3 : 15, requests: 1_000 });
      const memory = [agent.memoryAtStart, agent.memoryAfterRequests].map((size) => `${fixed(size)} MB`);
      const [p50 = '', , worst = ''] = spreadCells(agent.start);
      const head = ['First answer p50', 'worst', 'Memory at first', `after ${agent.requests} requests`];
      write(table(head, [[`${p50} ms`, `${worst} ms`, ...memory]]));
    },
  },
};

/** Prints one table with the figures on the PostgreSQL queue and, where there is a Redis, on the Redis queue. */
async function onEachQueue(
  write: Write,
  head: readonly string[],
  measure: (name: string, redis: { redisUrl?: string }) => Promise<string[][]>,
): Promise<void> {
  const redis = await startRedis(process.env.REDIS_URL);
  const rows = await measure('PostgreSQL', {});
  if (redis) rows.push(...(await measure('Redis', { redisUrl: redis.url })));
  write(table(head, rows));
  if (!redis) write('\nThere is no redis-server on the path and no REDIS_URL: the Redis queue was not measured.');
  await redis?.stop();
}
