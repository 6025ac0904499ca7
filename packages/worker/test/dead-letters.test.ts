import { expect, it } from 'vitest';
import { countDeadLetters } from '../src/dead-letters.js';
import { recordLog } from './support/context.js';

it('counts all dropped jobs, and separately those of the last 15 minutes', () => {
  let time = 0;
  const dead = countDeadLetters(recordLog(), () => time);
  expect(dead.dropped()).toEqual({ total: 0, recent: 0 });
  dead.note('executions', 'unreadable');
  time = 10 * 60_000;
  dead.note('entitlements', 'stalled');
  expect(dead.dropped()).toEqual({ total: 2, recent: 2 });
  time = 20 * 60_000;
  expect(dead.dropped()).toEqual({ total: 2, recent: 1 });
  for (let one = 0; one < 2_000; one += 1) dead.note('executions', 'failed');
  expect(dead.dropped()).toEqual({ total: 2_002, recent: 1_000 });
});
