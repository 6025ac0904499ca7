import { expect, it } from 'vitest';
import { watchOutage } from '../src/outage.js';
import { recordLog } from './support/context.js';

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
