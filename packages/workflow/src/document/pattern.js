import { RE2JS } from 're2js';

/**
 * A regular expression whose matching time is proportional to the length of the text. `source` is its original text,
 * `test` returns whether it matches anywhere in a text, and `toString` returns the source between slashes, by which ajv
 * tells patterns apart.
 * @typedef {{ readonly source: string, test(text: string): boolean, toString(): string }} Pattern
 */

const longest = 1_000;
/** RE2 does at most one step for each instruction and character, so this bounds what a character can cost. */
const largest = 3_000;

/**
 * Compiles an expression of an operator with RE2, which never backtracks: with `RegExp`, an expression such as `^(a+)+$`
 * needs hours for a text of forty letters and stops the whole process meanwhile. Expressions are written as for
 * `new RegExp(source, 'u')`. Throws an `Error` whose message says why the expression cannot be used.
 * @param {string} source
 * @returns {Pattern}
 */
export function compilePattern(source) {
  if (source.length > longest) throw new Error(`is longer than ${longest} characters`);
  try {
    // An expression must be valid for `RegExp` too: RE2 could read it in another way than its author intends.
    new RegExp(source, 'u');
  } catch {
    throw new Error('is not a regular expression');
  }
  // RE2 rejects all other syntax that it does not support, but it reads \k<name> as text.
  if (source.replaceAll('\\\\', '').includes('\\k')) throw needsBacktracking('\\k');
  const compiled = compile(source);
  if (compiled.programSize() > largest) throw new Error('is too large; use fewer or smaller repetitions');
  return { source, test: (text) => compiled.test(text), toString: () => `/${source}/` };
}

/** @param {string} source */
function compile(source) {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    const [, message = 'unknown syntax', part = ''] =
      /^error parsing regexp: (.*?)(?:: `(.*)`)?$/s.exec(error instanceof Error ? error.message : '') ?? [];
    if (/^(\(\?<?[=!]|\\[1-9])/.test(part)) throw needsBacktracking(part);
    throw new Error(`is not in RE2's syntax: ${message} ${part}`.trim());
  }
}

/** @param {string} part */
function needsBacktracking(part) {
  return new Error(
    `uses ${part}: lookahead, lookbehind and backreferences cannot be matched in linear time; use RE2's syntax`,
  );
}
