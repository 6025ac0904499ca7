import { describe, expect, it } from 'vitest';
import { readWishedDuration } from '../src/suggestions/durations.js';

const now = new Date('2026-03-01T10:00:00.000Z');
const minutes = (count: number) => count * 60_000;
const read = (text: string) => readWishedDuration(text, now);

describe('how long a person wants access', () => {
  it.each([
    ['for two hours', 120],
    ['read orders, 30 min', 30],
    ['30min please', 30],
    ['half an hour should do', 30],
    ['PT1H', 60],
    ['duration: PT1H30M.', 90],
    ['1h30m', 90],
    ['2h', 120],
    ['1.5 hours', 90],
    ['1,5 hours', 90],
    ['2 hours 15 minutes', 135],
    ['two and a half hours', 150],
    ['an hour and a half', 90],
    ['an hour', 60],
    ['a day', 1440],
    ['half a day', 720],
    ['for a quarter of an hour', 15],
    ['a couple of hours', 120],
    ['for the next 45 minutes', 45],
    ['at most 20 min', 20],
    ['3 days', 4320],
    ['for 90 minutes, logs of the last 3 days', 90],
    ['see what happened 2 days ago, for an hour', 60],
    ['until 12:00 UTC', 120],
    ['until 09:30 UTC', 1410],
    ['until 2026-03-01T12:30Z', 150],
    ['till 2026-03-01T14:00:00+02:00', 120],
    ['FOR TWO HOURS', 120],
  ])('%s', (text, expected) => {
    expect(read(text)).toBe(minutes(expected));
  });

  it.each([
    'read orders',
    'until tonight',
    'until 5',
    'until 17:00',
    'until 25:00 UTC',
    'until 2020-01-01T00:00Z',
    'for a few hours',
    'for some time',
    'for the day',
    'P10Y',
    'P1M',
    'P',
    'PT',
    'PT0S',
    '0 hours',
    '-2 hours',
    'orders of the last 2 hours',
    'it happened 3 days ago',
    'every 10 minutes',
    'the request took 30 seconds',
    'an hour or two hours',
    '1 hour, no, 2 hours',
    '99999999999999999999 hours',
    'room 2mm',
  ])('is not guessed: %s', (text) => {
    expect(read(text)).toBeUndefined();
  });

  it('is read within milliseconds from any text', () => {
    const hostile = [
      '1h '.repeat(1300),
      'P1'.repeat(2000),
      '1'.repeat(4000),
      'a '.repeat(2000),
      '1 and a half '.repeat(300),
    ];
    const started = performance.now();
    for (const text of hostile) read(text);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
