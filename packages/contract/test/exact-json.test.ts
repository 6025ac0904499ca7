import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InexactNumber, parseExactly } from '../src/exact-json.js';

describe('numbers in JSON', () => {
  it.each([
    '0',
    '-0',
    '0.0',
    '0e400',
    '1e2',
    '1E+22',
    '1e23',
    '9007199254740992',
    '9007199254740994',
    '-9007199254740991',
    '100000000000000000000',
    '1.50000000000000000000000',
    '0.1',
    '0.30000000000000004',
    '0.10000000000000001',
    '3.141592653589793',
    '5e-324',
    '1.7976931348623157e308',
    '123456789012345680000',
  ])('%s stays', (number) => {
    expect(parseExactly(`{"a":[${number}]}`)).toEqual(JSON.parse(`{"a":[${number}]}`));
  });

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '9007199254740993.0',
    '12345678901234567890',
    '90071992547409930e-1',
    '1e400',
    '-1e400',
    '1e-400',
    '3.14159265358979323846',
    '123456789.12345678901',
  ])('%s is an error that names it', (number) => {
    for (const text of [number, `[1,${number}]`, `{"a \\\\\\" 1":{"b":"x","c":${number}}}`])
      expect(() => parseExactly(text)).toThrow(InexactNumber);
    expect(() => parseExactly(number)).toThrow(`the number ${number.replace(/^-/, '')},`);
  });

  it('are not looked for in texts', () => {
    const value = { '9007199254740993': '1e400', quoted: '"9007199254740993', escaped: '\\', end: 'x\\' };
    expect(parseExactly(JSON.stringify(value))).toEqual(value);
  });

  it('that a program wrote from doubles stay, as does all other JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(parseExactly(text)).toEqual(JSON.parse(text));
      }),
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(parseExactly(String(value))).toBe(value + 0);
        // C writes a double with 17 digits.
        if (!Number.isInteger(value)) expect(parseExactly(value.toPrecision(17))).toBe(value);
      }),
    );
  });

  it('that are whole stay up to 2^53, and beyond it never become another one', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
        const parse = () => parseExactly(String(value));
        if (BigInt(Number(value)) !== value) expect(parse).toThrow(InexactNumber);
        else if (Number.isSafeInteger(Number(value))) expect(parse()).toBe(Number(value));
      }),
    );
  });

  it('are read in time that grows with the text', () => {
    const text = JSON.stringify(Array(50_000).fill('"9007199254740993\\'.repeat(4)));
    expect(parseExactly(text)).toHaveLength(50_000);
  });
});
