import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { formatDuration, longestDuration, parseDuration } from '../src/durations.js';

describe('durations', () => {
  it.each([
    ['PT0S', 0],
    ['PT1H30M', 5_400_000],
    ['P1DT1S', 86_401_000],
    ['P1W', 604_800_000],
    ['P2W', 1_209_600_000],
    ['P1W2DT3H', 788_400_000],
    ['PT1.5H', 5_400_000],
    ['PT1,5M', 90_000],
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
    'PT1.5H30M',
    'P1.5D',
    '１h',
  ])('%j is rejected', (text) => {
    expect(() => parseDuration(text)).toThrow(RangeError);
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

  it('agree with Temporal on everything that is written in upper case', () => {
    const relativeTo = Temporal.PlainDateTime.from('2001-01-01');
    const known = (text: string): number | undefined => {
      try {
        const duration = Temporal.Duration.from(text);
        const whole = Math.round(duration.total({ unit: 'milliseconds', relativeTo }));
        return duration.sign < 0 || duration.years || duration.months || whole > longestDuration ? undefined : whole;
      } catch {
        return undefined;
      }
    };
    const read = (text: string): number | undefined => {
      try {
        return parseDuration(text);
      } catch {
        return undefined;
      }
    };
    const piece = fc.constantFrom(
      'P',
      'T',
      '1',
      '05',
      '1.5',
      '2,25',
      '.1',
      '99999',
      'Y',
      'M',
      'W',
      'D',
      'H',
      'S',
      '-',
      '+',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
        const text = `P${pieces.join('')}`;
        expect([text, read(text)]).toEqual([text, known(text)]);
      }),
      { numRuns: 5_000 },
    );
  });
});
