import { describe, expect, it } from 'vitest';
import { compileExpressions, type Json, parseWorkflow } from '../src/index.js';
import { anyFunction } from './support/drive.js';

const document = { dsl: '1.0.3', namespace: 'test', name: 'test', version: '1.0.0' };

/** Returns the issues of a workflow with these tasks: those of its text, otherwise those of its expressions. */
async function issuesOf(tasks: Json) {
  const result = parseWorkflow({ document, do: tasks }, { functions: anyFunction });
  return result.ok ? await compileExpressions(result.expressions) : result.issues;
}

describe('the expressions of a loaded workflow', () => {
  it.each([
    ['.a |', 'unexpected end of file'],
    ['.a ==', 'unexpected end of file'],
    ['{a: }', "unexpected '}'"],
    ['.a..b', 'unexpected ..'],
    ['.a b', 'unexpected IDENT'],
    ['if .a then 1', 'unexpected end of file'],
    ['nosuch(.a)', 'nosuch/1 is not defined'],
    ['[.[] | f]', 'f/0 is not defined'],
    ['empty, _error', '_error/0 is not defined'],
    ['.a # then nothing |\n |', 'unexpected end of file'],
    ['. as [$a', 'not closed'],
    ['try error("x") catch', 'unexpected end of file'],
  ])('are rejected when jq cannot compile them: %s', async (program, why) => {
    const [issue, ...more] = await issuesOf([
      { fine: { set: { a: '${ .b }' } } },
      { decide: { switch: [{ yes: { when: program, then: 'end' } }] } },
    ]);
    expect(more).toEqual([]);
    expect(issue).toMatchObject({ code: 'ERR_EXPRESSION_SYNTAX', path: '/do/1/decide/switch/0/yes/when' });
    expect(issue?.message).toContain(why);
  });

  it('are all reported when they are wrong, at every place', async () => {
    const list = Array.from({ length: 250 }, (_, n) => ({ [`t${n}`]: { set: { a: `\${ .a + ${n} }` } } }));
    const wrong = { wrong: { set: { a: 'x ${ .a } ${ .b | }', c: '${ [.a }' } } };
    expect(await issuesOf([...list, wrong])).toMatchObject([{ path: '/do/250/wrong/set/c' }]);
    expect(
      await issuesOf([...list, { wrong: { set: { a: 'x ${ .a } ${ .b | }' } } }, { also: { wait: '${ .x. }' } }]),
    ).toEqual([
      {
        code: 'ERR_EXPRESSION_SYNTAX',
        path: '/do/250/wrong/set/a',
        message: 'the expression ".b |" is not valid jq: syntax error, unexpected end of file',
      },
      {
        code: 'ERR_EXPRESSION_SYNTAX',
        path: '/do/251/also/wait',
        message: expect.stringContaining('the expression ".x." is not valid jq'),
      },
    ]);
  });

  it.each([
    '.',
    'def f(x): x | x; f(. + 1)',
    '. as {a: $x, b: [$y]} | $x + $y',
    '.a // "x" # a comment',
    'reduce .[] as $n (0; . + $n)',
    'label $out | foreach .[] as $i (0; .; if . > 1 then ., break $out else . end)',
    'error("never raised")',
    '"\\(.a | tojson) \\(1 + 1)"',
    '-1',
    '.. | numbers',
    '1, 2',
    'last(repeat(1))',
    '$workflow.input | .a = 1',
    '. "a"',
    '[limit(3; .[])] | @base64',
  ])('are accepted when they are jq, and are not run: %s', async (program) => {
    expect(await issuesOf([{ a: { set: program } }])).toEqual([]);
  });

  it('are rejected in a catch with an empty filter', async () => {
    const attempt = (errors: Json) => [{ t: { try: [{ a: { call: 'ask' } }], catch: { errors } } }];
    expect(await issuesOf(attempt({}))).toEqual([]);
    expect(await issuesOf(attempt({ with: { status: 500 } }))).toEqual([]);
    expect(await issuesOf(attempt({ with: {} }))).toMatchObject([
      { code: 'ERR_INVALID', path: '/do/0/t/catch/errors/with', message: expect.stringContaining('at least one') },
    ]);
  });
});
