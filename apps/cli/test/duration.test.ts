import { expect, it } from 'vitest';
import { describeDuration, readDuration } from '../src/duration.js';

it('reads every duration that the server accepts', () => {
  expect(readDuration('P1W')).toBe(604_800_000);
  expect(readDuration('PT1.5H')).toBe(5_400_000);
  expect(readDuration(' 1h30m ')).toBe(5_400_000);
  for (const text of ['', 'soon', 'P1M', '-PT1H']) expect(readDuration(text)).toBeUndefined();
});

it('reads a duration as people write it, and leaves other text to the server', () => {
  const hour = 3_600_000;
  for (const text of [
    '2 hours',
    '2h',
    '120 min',
    '120 Minutes',
    '1 hr 60 mins',
    '1 hour and 60 minutes',
    '1h 60m',
    'PT2H',
  ])
    expect(readDuration(text), text).toBe(2 * hour);
  for (const text of ['2 months', '2 hourss', 'two hours', '2', '30 m x', '1h soon'])
    expect(readDuration(text), text).toBeUndefined();
});

it('describes a duration in its two largest units', () => {
  expect(describeDuration(97_200_000)).toBe('1d 3h');
});
