import { expect, it } from 'vitest';
import { createAgenda } from '../src/agenda.js';
import { createBulkheads, defaultPlaces } from '../src/bulkheads.js';
import { watchOutage } from '../src/outage.js';
import { createWork } from '../src/work.js';
import { recordLog, recordVerbs, stepJob, testContext } from './support/context.js';

it('warns twice a minute at most of a service that comes and goes, and within half a minute of one that stays away', () => {
  const log = recordLog();
  let now = 0;
  let changes = 0;
  const outage = watchOutage(
    log,
    'a service',
    () => void (changes += 1),
    () => now,
  );
  const counts = () => [log.count('warn', /not reachable/), log.count('info', /reachable again/)];
  for (; now < 20_000; now += 100) {
    outage.down(new Error('no place in the pool'));
    outage.up();
  }
  expect([counts(), changes]).toEqual([[1, 1], 400]);
  for (; now < 120_000; now += 100) outage.down(new Error('connection refused'));
  expect([counts(), outage.reason()]).toEqual([[2, 1], 'Error']);
  outage.up();
  expect(counts()).toEqual([2, 2]);
});

it.each([
  [
    'one line for an outage of the database',
    Object.assign(new Error('lost'), { code: 'ECONNRESET', query: 'select', parameters: [] }),
    1,
  ],
  ['one line for an outage of the threads', Object.assign(new Error('busy'), { code: 'EXPRESSIONS_UNAVAILABLE' }), 1],
  ['a line for each step that fails otherwise', new Error('a fault'), 40],
])('writes %s, however many steps fail', async (_, error, lines) => {
  const log = recordLog();
  const context = testContext(log);
  const { clock, delay } = context;
  const bulkheads = createBulkheads({ places: defaultPlaces, patience: 100, log, clock, delay, onRoom: () => {} });
  const verbs = recordVerbs(() => Promise.reject(error));
  const { signal } = new AbortController();
  const work = createWork(context, { bulkheads, agenda: createAgenda(context), verbs, stopping: signal });
  await Promise.all(Array.from({ length: 20 }, () => work.take(stepJob())));
  for (let nth = 0; nth < 20; nth += 1) bulkheads.hand({ queue: 'executions' }, () => Promise.reject(error));
  await bulkheads.empty();
  expect(log.lines.filter(({ level }) => level !== 'debug')).toHaveLength(lines);
});
