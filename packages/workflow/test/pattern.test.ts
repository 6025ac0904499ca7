import { performance } from 'node:perf_hooks';
import fullFormats from 'ajv-formats/dist/formats.js';
import { describe, expect, it } from 'vitest';
import { compilePattern, type Json, validateInput } from '../src/index.js';
import { workflowOf } from './support/drive.js';

/** Returns how long the work took in milliseconds. */
async function timed(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

// A backtracking engine needs between seconds and centuries for these texts.
const bombs: [pattern: string, text: string][] = [
  ['^(a+)+$', `${'a'.repeat(32)}!`],
  ['^([a-z]+)*$', `${'a'.repeat(32)}!`],
  ['^(a|a)*$', `${'a'.repeat(32)}!`],
  ['^(\\w+\\s?)*$', `${'word '.repeat(10)}!`],
  ['(x+x+)+y', 'x'.repeat(32)],
];
// These look simple, but take quadratic time or more in a backtracking engine.
const slopes = ['\\s+$', '.*.*.*=.*', '^\\S+@\\S+\\.\\S+$', '(.*)(.*)(.*)x'];

describe('an expression of an operator', () => {
  it.each(bombs)('%s does not hang on a short text', async (pattern, text) => {
    const compiled = compilePattern(pattern);
    let found: boolean | undefined;
    expect(await timed(() => (found = compiled.test(text)))).toBeLessThan(500);
    expect(found).toBe(false);
  });

  it.each(slopes)('%s takes time in proportion to the text', async (pattern) => {
    const compiled = compilePattern(pattern);
    const text = `${'a '.repeat(100_000)}${' '.repeat(100_000)}!`;
    expect(await timed(() => compiled.test(text))).toBeLessThan(2_000);
  });

  it.each([
    ['^OPS-\\d{1,6}: .+', 'OPS-42: figures', 'ops-42: figures'],
    ['^[\\p{L} ]+$', 'Änderung für Zoë', 'R2D2'],
    ['(?<ticket>[A-Z]{2,5}-\\d+)', 'see ABC-1', 'see abc'],
    ['^\\/srv\\/[^/]+$', '/srv/shop', '/srv/a/b'],
    ['^(?:incident|change) \\u0023\\d+$', 'change #7', 'request #7'],
    ['^😀+$', '😀😀', '😀!'],
    ['^$', '', 'x'],
    ['[(?=]', '=', 'x'],
    ['\\\\k<n>', '\\k<n>', 'k'],
  ])('%s matches the same texts as an ECMAScript expression', (pattern, yes, no) => {
    const native = new RegExp(pattern, 'u');
    expect([native.test(yes), native.test(no)]).toEqual([true, false]);
    const compiled = compilePattern(pattern);
    expect([compiled.test(yes), compiled.test(no), compiled.source]).toEqual([true, false, pattern]);
  });

  it.each([
    ['(', 'is not a regular expression'],
    ['\\Qa', 'is not a regular expression'],
    ['^(?=a)b', 'uses (?=: lookahead, lookbehind and backreferences cannot be matched in linear time'],
    ['^(?!a)b', 'uses (?!:'],
    ['(?<=a)b', 'uses (?<='],
    ['(?<!a)b', 'uses (?<!'],
    ['(a)\\1', 'uses \\1:'],
    ['(?<n>a)\\k<n>', 'uses \\k:'],
    ['a{1001}', "is not in RE2's syntax: invalid repeat count"],
    ['((a{100}){100}){100}', "is not in RE2's syntax: invalid repeat count"],
    ['(?:a{1000}){1}b{1000}c{1000}', 'is too large; use fewer or smaller repetitions'],
    ['a'.repeat(1_001), 'is longer than 1000 characters'],
  ])('%s is rejected with its reason', (pattern, reason) => {
    expect(() => compilePattern(pattern)).toThrow(reason);
  });
});

describe('the schema of a workflow’s input', () => {
  const withSchema = (document: Json) =>
    workflowOf({ input: { schema: { format: 'json', document } }, do: [{ a: { set: { n: 1 } } }] });

  it('does not hang on a text from a request, in pattern or patternProperties', async () => {
    for (const [pattern, text] of bombs) {
      const values = withSchema({ properties: { reason: { pattern } } });
      const names = withSchema({ patternProperties: { [pattern]: false }, additionalProperties: true });
      let found: unknown;
      expect(await timed(async () => (found = await validateInput(values, { reason: text })))).toBeLessThan(1_000);
      expect(found).toMatchObject([{ path: '/reason', message: `must match pattern "${pattern}"` }]);
      expect(await timed(async () => (found = await validateInput(names, { [text]: 1 })))).toBeLessThan(1_000);
      expect(found).toEqual([]);
    }
  });

  it('keeps patterns apart', async () => {
    const two = withSchema({ properties: { a: { pattern: '^a' }, b: { pattern: '^b' } } });
    expect(await validateInput(two, { a: 'a', b: 'b' })).toEqual([]);
    expect(await validateInput(two, { a: 'b', b: 'a' })).toMatchObject([{ path: '/a' }, { path: '/b' }]);
  });

  it('is rejected when a pattern needs backtracking', () => {
    expect(() => withSchema({ properties: { a: { pattern: '^(?!x)' } } })).toThrow(
      /the pattern "\^\(\?!x\)" uses \(\?!/,
    );
  });

  it.each(Object.keys(fullFormats.fullFormats))('does not hang on the format %s', async (format) => {
    const workflow = withSchema({ properties: { a: { type: 'string', format } } });
    const pieces = [
      'a',
      '1',
      '.',
      '-',
      ':',
      '/',
      '%41',
      '@',
      ' ',
      '{a}',
      '::',
      'a.',
      '1-',
      '\n',
      '=',
      '~0',
      'T',
      'P1',
      '"',
    ];
    for (const piece of pieces) {
      for (const start of ['', 'a', 'http://', 'P']) {
        const text = `${start}${piece.repeat(20_000)}\u0000`;
        expect(await timed(() => validateInput(workflow, { a: text })), piece).toBeLessThan(1_000);
      }
    }
  });
});
