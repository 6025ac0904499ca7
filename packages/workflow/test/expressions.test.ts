import { describe, expect, it } from 'vitest';
import { readProgram } from '../src/expression/allowed.js';
import { evaluatePlain } from '../src/expression/plain.js';
import { programOf, readTemplate } from '../src/expression/template.js';
import { ExpressionError, type Json } from '../src/index.js';
import { sharedPool } from './support/drive.js';

const codeOf = (check: () => unknown): string => {
  try {
    check();
    return 'accepted';
  } catch (error) {
    return error instanceof ExpressionError ? error.code : `not coded: ${error}`;
  }
};

describe('which programs may run', () => {
  it.each([
    '.input',
    '.env',
    '.env.PATH',
    '$input',
    '{env: 1}',
    '{a: 1, env}',
    '{"env": .input}',
    '"env"',
    '"input \\(.env)"',
    '.["inputs"]',
    'getpath(["env"])',
    '. as {env: $e} | $e',
    '# env\n.a',
    '.a | test("now")',
    '{now: .debug}',
    '.halt',
    '@base64 "x\\(.env)"',
    '{$input}',
    '.inputs[0].stderr',
    '"now", "env" | length',
    '.a."env"',
  ])('%s', (program) => {
    expect(codeOf(() => readProgram(program))).toBe('accepted');
  });

  it.each([
    'env',
    'env.PATH',
    '$ENV',
    '$ENV.PATH',
    'input',
    '[inputs]',
    'input_line_number',
    '.a | debug',
    'debug("x")',
    'stderr',
    'include "a"; .',
    'import "a" as a; .',
    'a::b',
    '$a::b',
    '"\\(env)"',
    '"a \\("b \\($ENV)")"',
    '@json "\\(input)"',
    '{a: env}',
    '{(env): 1}',
    '{a: 1 | env, b: 2}',
    '[1, env]',
    '..env',
    '.a,env',
    '..|env',
    '. env',
    'def f: env; f',
    '{a: (1, env)}',
    'now',
    'localtime',
    'halt',
    'halt_error',
    '# c \\\nenv',
    '# c \renv',
    '{"a": env}',
    'reduce env as $x (0; 1)',
    '$__prog_args',
    'get_search_list',
    'input_filename',
    'modulemeta',
    'if env then 1 else 2 end',
    '{a:1,b:env}',
    '$__loc__|env',
  ])('not %s', (program) => {
    expect(codeOf(() => readProgram(program))).toBe('ERR_EXPRESSION_REFUSED');
  });

  it.each([
    '',
    ' ',
    '# only a comment',
    '(',
    ')',
    '[}',
    '"open',
    '"a \\(1"',
    '"\\x"',
    '$ ENV',
    '$',
    '@',
    '{',
    '"\\(]"',
  ])('not %j, which is not a program', (program) => {
    expect(codeOf(() => readProgram(program))).toBe('ERR_EXPRESSION_SYNTAX');
  });

  it('lists the free variables', () => {
    const of = (program: string) => readProgram(program).variables;
    expect(of('$context.a + $input')).toEqual(['context', 'input']);
    expect(of('. as $x | $x + $y')).toEqual(['y']);
    expect(of('. as {a: $x, b: [$z]} | $x + $z')).toEqual([]);
    expect(of('reduce .[] as $i (0; . + $i + $n)')).toEqual(['n']);
    expect(of('def f($a): $a; f($b)')).toEqual(['b']);
    expect(of('label $out | foreach .[] as $i (0; .+1; if . > $max then break $out else . end)')).toEqual(['max']);
    expect(of('"\\($name)"')).toEqual(['name']);
    expect(of('{$item}')).toEqual(['item']);
  });
});

describe('templates', () => {
  it('distinguish text from expressions', () => {
    expect(readTemplate('plain $x {a}')).toEqual({ is: 'literal' });
    expect(readTemplate(' ${ .a } ')).toEqual({ is: 'expression', program: '.a' });
    expect(readTemplate('${ {a: "}"} }')).toEqual({ is: 'expression', program: '{a: "}"}' });
    expect(readTemplate('${ "\\(.a | {b: .})" }')).toEqual({ is: 'expression', program: '"\\(.a | {b: .})"' });
    expect(readTemplate('${ .a } and ${ .b }')).toEqual({
      is: 'mixed',
      parts: [{ program: '.a' }, ' and ', { program: '.b' }],
    });
    expect(codeOf(() => readTemplate('${ .a'))).toBe('ERR_EXPRESSION_SYNTAX');
    expect(codeOf(() => programOf('a ${ .b }'))).toBe('ERR_EXPRESSION_SYNTAX');
    expect(programOf('.a')).toBe('.a');
  });
});

describe('plain programs', () => {
  const input: Json = {
    a: { b: [1, 2, { 'c d': null }], 'x-y': true },
    list: [[1], [2]],
    constructor: 'own',
    t: 'text',
  };
  const args: { [name: string]: Json } = { context: { x: [5] }, n: 3 };
  const programs = [
    '.',
    '.a',
    '.a.b',
    '.a.b[0]',
    '.a.b[-1]',
    '.a.b[7]',
    '.a.b[2]."c d"',
    '.a["x-y"]',
    '.["a"].b[1]',
    '."a"',
    '.missing.deep',
    '.list[1][0]',
    '.constructor',
    '.toString',
    '.a.hasOwnProperty',
    '.["__proto__"]',
    '$context',
    '$context.x[0]',
    '$n',
    '$n.x',
    '$context["x"]',
    '1',
    '-4',
    '0',
    '"te\\u0078t"',
    'true',
    'false',
    'null',
    '[]',
    '{}',
    '.t.x',
    '.a[0]',
    '.list.x',
    '.n[0].x',
    '.a.b[-9]',
    '.t[0]',
    '.t == "text"',
    '.t!="text"',
    '.a == .a',
    '.a == .list',
    '.missing == null',
    '$n == 3',
    '$n==.n',
    'true == true',
    '.a["x-y"] == true',
    '.t.x == 1',
    '1 == .t.x',
    '[] == {}',
    '$context.x[0] != 5',
  ];

  it.each(programs)('%s has the same result as in jq', async (program) => {
    const direct = await outcome(async () => {
      const value = evaluatePlain(program, input, args);
      return value === undefined ? 'needs jq' : value;
    });
    // With a pipe, the same program is no longer plain, so jq runs it.
    const byJq = await outcome(() => sharedPool().evaluate(`${program} | .`, input, args));
    expect(direct).toEqual(byJq);
    expect(direct).not.toBe('needs jq');
  });

  it.each([
    '.a?',
    '.[]',
    '.a,.b',
    '.a|.b',
    '..',
    '.a[1:2]',
    '.a[.n]',
    '1.5',
    '9007199254740993',
    '"\\(.a)"',
    '[1]',
    '{a:1}',
    '.a // 1',
    '.a == 1 == 2',
    '.a == 1 and true',
    '.a = 1',
    '.a |= 1',
    '.a == [1]',
    '.a == ',
    '.a = = 1',
    '$__loc__',
  ])('%s is left to jq', (program) => {
    expect(evaluatePlain(program, input, args)).toBeUndefined();
  });

  async function outcome(work: () => Promise<Json>): Promise<Json> {
    try {
      return await work();
    } catch (error) {
      return error instanceof ExpressionError ? 'an expression error' : `not coded: ${error}`;
    }
  }
});
