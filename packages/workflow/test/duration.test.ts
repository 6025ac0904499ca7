import { describe, expect, it } from 'vitest';
import { durationOf, formatDuration, longestDuration, parseDuration } from '../src/index.js';

describe('durations', () => {
  it.each([
    ['PT0S', 0],
    ['PT1H30M', 5_400_000],
    ['P1DT1S', 86_401_000],
    ['P2W', 1_209_600_000],
    ['PT0.5S', 500],
    ['P3650D', longestDuration],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['45s', 45_000],
    ['500ms', 500],
    ['1m', 60_000],
    ['0s', 0],
  ])('%s is %d milliseconds', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each([
    '',
    ' ',
    'P',
    'PT',
    'P1',
    '1',
    '10',
    'PT1H ',
    ' PT1H',
    'pt1h',
    'PT1H30',
    'PT-1S',
    '-PT1S',
    '-P1D',
    '-1h',
    '1h-30m',
    'P1Y',
    'P1M',
    'P1Y2M',
    'P3651D',
    'PT99999999999999999999S',
    '30m1h',
    '1.5h',
    '1H',
    'soon',
    'PT1H/PT2H',
    'P1S',
    '１h',
  ])('%j is refused', (text) => {
    expect(() => parseDuration(text)).toThrow(RangeError);
  });

  it('in the DSL may be an object of whole, known units', () => {
    expect(durationOf({ days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 })).toBe(90_061_001);
    for (const wrong of [{}, { years: 1 }, { seconds: 1.5 }, { seconds: -1 }, { seconds: '1' }, [], 5, null, true]) {
      expect(() => durationOf(wrong as never)).toThrow(RangeError);
    }
  });

  it('are written as they are read', () => {
    for (const milliseconds of [0, 1, 500, 1000, 61_001, 3_600_000, 86_400_000, 90_061_001, longestDuration]) {
      expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
    }
    expect(formatDuration(0)).toBe('PT0S');
    expect(formatDuration(5_400_000)).toBe('PT1H30M');
    expect(formatDuration(86_400_500)).toBe('P1DT0.5S');
    for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => formatDuration(wrong)).toThrow(RangeError);
  });
});
