import { expect, it } from 'vitest';
import { describeDuration, readDuration } from '../src/duration.js';

it('reads every duration that the server accepts', () => {
  expect(readDuration('P1W')).toBe(604_800_000);
  expect(readDuration('PT1.5H')).toBe(5_400_000);
  expect(readDuration(' 1h30m ')).toBe(5_400_000);
  for (const text of ['', 'soon', 'P1M', '-PT1H']) expect(readDuration(text)).toBeUndefined();
});

it('describes a duration in its two largest units', () => {
  expect(describeDuration(97_200_000)).toBe('1d 3h');
});
