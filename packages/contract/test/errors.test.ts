import { expect, it } from 'vitest';
import { codeOfStatus, errorCodes, errorTable } from '../src/errors.js';

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
