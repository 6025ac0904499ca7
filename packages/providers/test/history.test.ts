import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Counters, compareCounters, positionOf } from '../src/counters.js';
import { compareControllers, readCsn, readVector } from '../src/ldap/history.js';
import { countersOf } from '../src/mysql/history.js';

const counters = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String));
const text = (one: Counters) => positionOf(one) ?? '{}';

it('a server that has all that was seen is ahead, and one that lacks a part is behind', () => {
  fc.assert(
    fc.property(counters, counters, (before, now) => {
      const lacks = Object.entries(before).some(([name, count]) => BigInt(now[name] ?? -1) < BigInt(count));
      expect(compareCounters(text(before), text(now))).toBe(lacks ? 'behind' : 'ahead');
      expect(compareCounters(text(before), text(before))).toBe('ahead');
    }),
  );
});

it('numbers of changes are ordered as OpenLDAP orders them', () => {
  const [first, second, third] = [
    '20261128224800.123456Z#000000#001#000000',
    '20261128224800.123456Z#00000a#001#000000',
    '20261128224801.000000Z#000000#001#000000',
  ].map((one) => readCsn(one));
  expect(first?.[0]).toBe('001');
  expect(BigInt(first?.[1] ?? 0) < BigInt(second?.[1] ?? 0)).toBe(true);
  expect(BigInt(second?.[1] ?? 0) < BigInt(third?.[1] ?? 0)).toBe(true);
  expect([readCsn(''), readCsn('20261128224800Z')]).toEqual([undefined, undefined]);
});

it('reads the up-to-date vector of a domain controller, in both versions, and nothing that is cut off', () => {
  const [one, two] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
  const vector = (version: number, size: number) => {
    const head = Buffer.alloc(16);
    head.writeUInt32LE(version, 0);
    head.writeUInt32LE(2, 8);
    const cursors = [one, two].map((id, index) => {
      const cursor = Buffer.alloc(size);
      id.copy(cursor);
      cursor.writeBigUInt64LE(BigInt(1000 + index), 16);
      return cursor;
    });
    return Buffer.concat([head, ...cursors]);
  };
  const expected = { [one.toString('hex')]: '1000', [two.toString('hex')]: '1001' };
  expect(readVector(vector(1, 24))).toEqual(expected);
  expect(readVector(vector(2, 32))).toEqual(expected);
  expect(readVector(vector(2, 32).subarray(0, 60))).toEqual({ [one.toString('hex')]: '1000' });
  expect([readVector(Buffer.alloc(3)), readVector(Buffer.alloc(40, 9))]).toEqual([{}, {}]);
});

it('another domain controller counts when it has what was done at the first, and the first one when it lost nothing', () => {
  const at = (own: string, one: Counters) => JSON.stringify({ own, counters: one });
  const before = at('dc1', { dc1: '100', dc2: '7' });
  expect(compareControllers(before, at('dc1', { dc1: '100' }))).toBe('ahead');
  expect(compareControllers(before, at('dc1', { dc1: '99', dc2: '9' }))).toBe('behind');
  expect(compareControllers(before, at('dc2', { dc2: '3', dc1: '100' }))).toBe('ahead');
  expect(compareControllers(before, at('dc2', { dc2: '300', dc1: '99' }))).toBe('late');
  expect(compareControllers(before, at('dc2', { dc2: '300' }))).toBe('late');
});

it('reads the GTIDs of MariaDB by their domains', () => {
  expect(countersOf('0-1-270, 3-12-5')).toEqual({ 0: '270', 3: '5' });
  expect(countersOf('')).toEqual({});
});
