import { expect, it } from 'vitest';
import { codeOfStatus, errorCodes, errorTable, publishedCodes } from '../src/errors.js';

it.each(errorCodes.filter((code) => code !== 'held_outside'))('%s is what its status stands for', (code) => {
  expect(codeOfStatus(errorTable[code].status)).toBe(code);
});

it.each([
  [405, 'invalid'],
  [406, 'invalid'],
  [412, 'conflict'],
  [413, 'invalid'],
  [414, 'invalid'],
  [415, 'invalid'],
  [421, 'invalid'],
  [422, 'invalid'],
  [502, 'unavailable'],
  [504, 'unavailable'],
  [599, 'internal'],
  [200, undefined],
  [302, undefined],
  [418, undefined],
])('%d stands for %s', (status, code) => {
  expect(codeOfStatus(status)).toBe(code);
});

it.each(Object.keys(publishedCodes))('%s, which Belay itself returns, stands for a code', (status) => {
  expect(errorCodes).toContain(codeOfStatus(Number(status)));
});
