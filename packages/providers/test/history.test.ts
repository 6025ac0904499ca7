import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createHistory, isBehind, joinPositions } from '../src/history.js';
import { Retryable } from '../src/index.js';
import { readCsn, readVector } from '../src/ldap/position.js';

const position = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
);

it('a server that has all that was seen is never rejected, and one that lacks a part always is', () => {
  fc.assert(
    fc.property(position, position, (seen, now) => {
      const both = joinPositions(seen, now);
      expect([isBehind(both, seen), isBehind(both, now)]).toEqual([false, false]);
      const lacks = Object.entries(seen).some(([name, count]) => BigInt(now[name] ?? -1) < BigInt(count));
      expect(isBehind(now, seen)).toBe(lacks);
      const history = createHistory('The server');
      history.require(seen);
      if (lacks) expect(() => history.require(now)).toThrow(Retryable);
      else history.require(now);
    }),
  );
});

it('a rejected server changes nothing of what is remembered', () => {
  const history = createHistory('The server');
  history.require({ a: '5' });
  expect(() => history.require({ a: '4', b: '9' })).toThrow('The server lacks changes that it had before');
  history.require({ a: '5' });
});

it('numbers of changes are ordered as OpenLDAP orders them', () => {
  const [first, second, third] = [
    '20261128224800.123456Z#000000#001#000000',
    '20261128224800.123456Z#00000a#001#000000',
    '20261128224801.000000Z#000000#001#000000',
  ].map((text) => readCsn(text));
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
