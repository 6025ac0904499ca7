import { describe, expect, it } from 'vitest';
import { moment } from '../src/fields.js';
import { endOfMoment, startOfMoment } from '../src/moments.js';

describe('a moment that filters a list', () => {
  it.each([
    ['2026-01-31T09:30', '2026-01-31T09:30:00.000Z', '2026-01-31T09:30:59.999Z'],
    ['2026-01-31T09:30:15', '2026-01-31T09:30:15.000Z', '2026-01-31T09:30:15.000Z'],
    ['2026-01-31T09:30:15.250Z', '2026-01-31T09:30:15.250Z', '2026-01-31T09:30:15.250Z'],
    ['2026-01-31T09:30:15+05:30', '2026-01-31T04:00:15.000Z', '2026-01-31T04:00:15.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z', '2026-01-31T23:59:59.999Z'],
  ])(
    '%s is in UTC without an offset, the whole minute without seconds, and the whole day without a time',
    (given, first, last) => {
      expect(moment.parse(given)).toBe(given);
      expect([startOfMoment(given).toISOString(), endOfMoment(given).toISOString()]).toEqual([first, last]);
    },
  );

  it.each([
    '',
    'yesterday',
    '2026-02-30',
    '2026-02-30T09:30',
    '2026-01-31T24:00',
    '2026-01-31 09:30',
    '0000-01-01T00:00',
  ])('%s is rejected with one message', (given) => {
    const { error } = moment.safeParse(given);
    expect(error?.issues).toHaveLength(1);
    expect(error?.issues[0]?.message).toMatch(/^must be /);
  });
});
