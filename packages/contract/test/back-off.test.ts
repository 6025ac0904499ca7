import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backOff, jitter, pauseAfter } from '../src/back-off.js';

const pauses = { first: 100, last: 2_000 };
const random = fc.double({ min: 0, max: 1, noNaN: true });

describe('pauses between tries', () => {
  it('doubles the first pause with each failure in a row, up to the last', () => {
    expect([0, 1, 2, 3, 5, 6, 1_000].map((failures) => pauseAfter(pauses, failures))).toEqual([
      100, 100, 200, 400, 1_600, 2_000, 2_000,
    ]);
  });

  it('spreads a pause over its second half', () => {
    expect([0, 0.5, 1].map((each) => backOff(pauses, 2, each))).toEqual([200, 150, 100]);
    fc.assert(
      fc.property(fc.nat(), random, (failures, each) => {
        const pause = pauseAfter(pauses, failures);
        expect(backOff(pauses, failures, each)).toBeGreaterThanOrEqual(pause / 2);
        expect(backOff(pauses, failures, each)).toBeLessThanOrEqual(pause);
      }),
    );
  });

  it('spreads an interval by a quarter in both directions', () => {
    expect([0, 0.5, 1].map((each) => jitter(1_000, each))).toEqual([750, 1_000, 1_250]);
  });
});
