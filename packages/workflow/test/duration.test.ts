import { describe, expect, it } from 'vitest';
import { durationOf } from '../src/index.js';

describe('durations', () => {
  it('in the DSL may be an object of whole, known units', () => {
    expect(durationOf({ days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 })).toBe(90_061_001);
    for (const wrong of [{}, { years: 1 }, { seconds: 1.5 }, { seconds: -1 }, { seconds: '1' }, [], 5, null, true]) {
      expect(() => durationOf(wrong as never)).toThrow(RangeError);
    }
  });
});
