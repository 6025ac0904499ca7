import { describe, expect, it } from 'vitest';
import { type Json, loadWorkflow, parseWorkflow, validateInput } from '../src/index.js';
import { anyFunction, parsed, workflowOf } from './support/drive.js';

const document = { dsl: '1.0.3', namespace: 'test', name: 'test', version: '1.0.0' };
const issuesOf = (parts: object, functions = anyFunction) => {
  const result = parseWorkflow({ document, ...parts }, { functions });
  return result.ok ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
};
const taskIssues = (task: Json) => issuesOf({ do: [{ t: task }] });
const P = '/do/0/t';

describe('a definition', () => {
  it('is the same from YAML, from JSON and from itself', () => {
    const workflow = workflowOf({ do: [{ a: { set: { n: 1 } } }] });
    expect(parsed(JSON.stringify(workflow))).toEqual(workflow);
    expect(parsed(workflow)).toEqual(workflow);
    expect(loadWorkflow(JSON.parse(JSON.stringify(workflow)))).toEqual(workflow);
    expect(() => loadWorkflow({})).toThrow(TypeError);
    expect(() => loadWorkflow(null)).toThrow(TypeError);
  });

  it('is kept unchanged, and not shared with the caller', () => {
    const given = { document, do: [{ a: { call: 'http', with: { method: 'get', uri: 'https://a.example' } } }] };
    const workflow = parsed(given);
    expect(workflow).toEqual(given);
    expect(workflow.do).not.toBe(given.do);
  });

  it.each([
    ['a: [', 'ERR_SOURCE '],
    ['a: 1\na: 2', 'ERR_SOURCE '],
    ['a: !!js/function x', 'ERR_SOURCE '],
    ['a: .inf', 'ERR_SOURCE /a'],
    ['{"__proto__": {"x": 1}}', 'ERR_SOURCE /__proto__'],
    [{ a: { b: new Date(0) } }, 'ERR_SOURCE /a/b'],
    [{ 'a/b': { c: Number.NaN } }, 'ERR_SOURCE /a~1b/c'],
    [{ a: () => 1 }, 'ERR_SOURCE /a'],
    ['&a [*a]', 'ERR_SOURCE /0/0/0/0/0/0'],
    [`a: ${'['.repeat(200)}${']'.repeat(200)}`, 'ERR_SOURCE /a/0/0/0'],
    ['', 'ERR_INVALID '],
    ['text', 'ERR_INVALID '],
    [undefined, 'ERR_SOURCE '],
    [{ a: 'x\u0000' }, 'ERR_SOURCE /a'],
    [{ a: { '\udc00': 1 } }, 'ERR_SOURCE /a/\udc00'],
  ])('that is not JSON is rejected: %j', (source, issue) => {
    const result = parseWorkflow(source, { functions: {} });
    const issues = result.ok ? [] : result.issues.map(({ code, path }) => `${code} ${path}`);
    expect(issues.join('\n')).toContain(issue);
  });

  it('has a bounded size, even with aliases', () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `k${n}: &a${n} [${n ? `*a${n - 1},*a${n - 1},*a${n - 1},*a${n - 1}` : 'x'}]`,
    );
    expect(parseWorkflow(levels.join('\n'), { functions: {} })).toMatchObject({
      ok: false,
      issues: [{ code: 'ERR_SOURCE' }],
    });
  });

  it('must have the parts of the DSL and no others', () => {
    expect(issuesOf({})).toEqual(['ERR_MISSING /do']);
    expect(issuesOf({ do: [], doo: 1 })).toEqual(['ERR_UNKNOWN_KEY /doo']);
    expect(issuesOf({ do: [], document: { ...document, version: '1', colour: 'red' } })).toEqual([
      'ERR_INVALID /document/version',
      'ERR_UNKNOWN_KEY /document/colour',
    ]);
    expect(issuesOf({ do: {} })).toEqual(['ERR_INVALID /do']);
  });
});

describe('a task', () => {
  it.each<[Json, string[]]>([
    [{ set: { a: 1 }, sett: 1 }, [`ERR_UNKNOWN_KEY ${P}/sett`]],
    [{ set: { a: 1 }, call: 'ask' }, [`ERR_UNKNOWN_KEY ${P}/set`]],
    [{ set: {} }, [`ERR_INVALID ${P}/set`]],
    [{}, [`ERR_TASK ${P}`]],
    ['set', [`ERR_INVALID ${P}`]],
    [{ set: { a: 1 }, then: 'nowhere' }, [`ERR_THEN ${P}/then`]],
    [{ set: { a: 1 }, then: 't' }, []],
    [{ set: { a: '${ .a' } }, [`ERR_EXPRESSION_SYNTAX ${P}/set/a`]],
    [{ set: { a: ['x', '${ env }'] } }, [`ERR_EXPRESSION_REFUSED ${P}/set/a/1`]],
    [{ set: { a: '${ $nothing }' } }, [`ERR_EXPRESSION_VARIABLE ${P}/set/a`]],
    [{ set: { a: '${ $secrets.x }' } }, [`ERR_UNSUPPORTED_ARGUMENT ${P}/set/a`]],
    [{ if: '$input.x', set: { a: 1 } }, [`ERR_EXPRESSION_VARIABLE ${P}/if`]],
    [{ set: { a: 1 }, output: { as: '$output' } }, [`ERR_EXPRESSION_VARIABLE ${P}/output/as`]],
    [{ set: { a: 1 }, export: { as: '$output' } }, []],
    [
      { set: { a: 1 }, input: { schema: { document: { type: 'nothing' } } } },
      [`ERR_SCHEMA ${P}/input/schema/document`],
    ],
    [
      { set: { a: 1 }, input: { schema: { resource: { endpoint: 'https://a.example' } } } },
      [`ERR_UNSUPPORTED_EXTERNAL_RESOURCE ${P}/input/schema/resource`],
    ],
    [
      { set: { a: 1 }, input: { schema: { format: 'avro', document: {} } } },
      [`ERR_UNSUPPORTED_SCHEMA_FORMAT ${P}/input/schema/format`],
    ],
    [
      { set: { a: 1 }, input: { schema: { document: { $ref: 'https://a.example/s' } } } },
      [`ERR_SCHEMA ${P}/input/schema/document`],
    ],
    [{ set: { a: 1 }, timeout: 'none' }, [`ERR_REFERENCE ${P}/timeout`]],
    [{ set: { a: 1 }, timeout: { after: 'soon' } }, [`ERR_DURATION ${P}/timeout/after`]],
    [{ wait: 'P1M' }, [`ERR_UNSUPPORTED_DURATION ${P}/wait`]],
    [{ wait: { seconds: -1 } }, [`ERR_DURATION ${P}/wait`]],
    [{ wait: '${ .for }' }, []],
    [{ call: 'nobody' }, [`ERR_FUNCTION ${P}/call`]],
    [{ call: 'ask', with: { a: '${ $x }' } }, [`ERR_EXPRESSION_VARIABLE ${P}/with/a`]],
    [{ call: 'toString' }, [`ERR_FUNCTION ${P}/call`]],
    [{ call: 'http', with: { method: 'get' } }, [`ERR_MISSING ${P}/with/endpoint`]],
    [{ call: 'http', with: { method: 'get', endpoint: 'https://a', uri: 'https://b' } }, [`ERR_INVALID ${P}/with/uri`]],
    [{ call: 'http', with: { method: 'get', endpoint: '/relative' } }, [`ERR_INVALID ${P}/with/endpoint`]],
    [{ call: 'http', with: { method: 'get', endpoint: 'https://a', proxy: 1 } }, [`ERR_UNKNOWN_KEY ${P}/with/proxy`]],
    [
      {
        call: 'http',
        with: {
          method: 'get',
          endpoint: { uri: 'https://a', authentication: { digest: { username: 'a', password: 'b' } } },
        },
      },
      [`ERR_UNSUPPORTED_AUTHENTICATION ${P}/with/endpoint/authentication/digest`],
    ],
    [
      {
        call: 'http',
        with: { method: 'get', endpoint: { uri: 'https://a', authentication: { basic: { use: 's' } } } },
      },
      [`ERR_UNSUPPORTED_SECRETS ${P}/with/endpoint/authentication/basic/use`],
    ],
    [
      { call: 'http', with: { method: 'get', endpoint: { uri: 'https://a', authentication: { use: 's' } } } },
      [`ERR_REFERENCE ${P}/with/endpoint/authentication/use`],
    ],
    [{ call: 'grpc', with: {} }, [`ERR_UNSUPPORTED_CALL_GRPC ${P}/call`]],
    [{ call: 'a2a', with: {} }, [`ERR_UNSUPPORTED_CALL_A2A ${P}/call`]],
    [{ call: 'log:1.0.0@default' }, [`ERR_UNSUPPORTED_CATALOG ${P}/call`]],
    [{ run: { shell: { command: 'ls' } } }, [`ERR_UNSUPPORTED_RUN ${P}/run`]],
    [{ for: { in: '.', each: 'input' }, do: [] }, [`ERR_RESERVED ${P}/for/each`]],
    [{ for: { in: '.', each: 'a b' }, do: [] }, [`ERR_INVALID ${P}/for/each`]],
    [{ for: { in: '.', each: 'x', at: 'x' }, do: [] }, [`ERR_INVALID ${P}/for/at`]],
    [{ for: { in: '.' }, do: [{ a: { set: { x: '${ $item }', y: '${ $index }' } } }] }, []],
    [
      { fork: { branches: [{ a: { set: { x: 1 }, then: 'b' } }, { b: { set: { x: 1 } } }] } },
      [`ERR_THEN ${P}/fork/branches/0/a/then`],
    ],
    [{ fork: { branches: [], compete: true } }, [`ERR_INVALID ${P}/fork/branches`]],
    [{ do: [{ a: { set: { x: 1 } } }, { a: { set: { x: 2 } } }] }, [`ERR_DUPLICATE_NAME ${P}/do/1/a`]],
    [{ do: [{ exit: { set: { x: 1 } } }] }, [`ERR_RESERVED ${P}/do/0/exit`]],
    [{ do: [{ a: { set: { x: 1 } }, b: { set: { x: 2 } } }] }, [`ERR_INVALID ${P}/do/0`]],
    [{ do: [{ a: { set: { x: 1 }, then: 't' } }] }, [`ERR_THEN ${P}/do/0/a/then`]],
    [{ switch: [{ a: { then: 'end' } }, { b: { then: 'exit' } }] }, [`ERR_INVALID ${P}/switch`]],
    [{ switch: [] }, [`ERR_INVALID ${P}/switch`]],
    [{ switch: [{ a: { when: '.x' } }] }, [`ERR_MISSING ${P}/switch/0/a/then`]],
    [{ raise: { error: 'none' } }, [`ERR_REFERENCE ${P}/raise/error`]],
    [
      { raise: { error: { type: 'https://belay.dev/errors/cancelled', status: 400 } } },
      [`ERR_RESERVED ${P}/raise/error/type`],
    ],
    [{ raise: { error: { type: 'https://a.example' } } }, [`ERR_MISSING ${P}/raise/error/status`]],
    [{ try: [], catch: { retry: 'none' } }, [`ERR_REFERENCE ${P}/catch/retry`]],
    [{ try: [], catch: { retry: { delay: 'x' } } }, [`ERR_DURATION ${P}/catch/retry/delay`]],
    [
      { try: [], catch: { retry: { backoff: { exponential: { factor: 3 } } } } },
      [`ERR_UNSUPPORTED_BACKOFF ${P}/catch/retry/backoff/exponential`],
    ],
    [
      {
        try: [],
        catch: { as: 'e', when: '$e.status == 1', retry: { when: '$e' }, do: [{ a: { set: { e: '${ $e }' } } }] },
      },
      [],
    ],
    [{ try: [], catch: { when: '$e' } }, [`ERR_EXPRESSION_VARIABLE ${P}/catch/when`]],
    [{ try: [] }, [`ERR_MISSING ${P}/catch`]],
    [{ emit: { event: { with: { type: 'a' } } } }, [`ERR_MISSING ${P}/emit/event/with/source`]],
    [
      { emit: { event: { with: { type: 'a', source: 'b', 'Bad-Name': 1 } } } },
      [`ERR_INVALID ${P}/emit/event/with/Bad-Name`],
    ],
    [{ listen: { to: {} } }, [`ERR_INVALID ${P}/listen/to`]],
    [{ listen: { to: { one: { with: { type: 'a' } }, any: [] } } }, [`ERR_INVALID ${P}/listen/to`]],
    [{ listen: { to: { one: { with: {} } } } }, [`ERR_INVALID ${P}/listen/to/one/with`]],
    [{ listen: { to: { all: [], until: '.x' } } }, [`ERR_INVALID ${P}/listen/to/until`]],
    [{ listen: { to: { any: [], until: { any: [], until: '.x' } } } }, [`ERR_INVALID ${P}/listen/to/until/until`]],
    [
      { listen: { to: { one: { with: { type: 'com\\.x\\..*' } } } } },
      [`ERR_UNSUPPORTED_EVENT_PATTERN ${P}/listen/to/one/with/type`],
    ],
    [{ listen: { to: { any: [] } }, foreach: { item: 'task' } }, [`ERR_RESERVED ${P}/foreach/item`]],
  ])('%j', (task, expected) => {
    expect(taskIssues(task)).toEqual(expected);
  });
});

describe('the reusable parts', () => {
  it('are checked whether they are used or not', () => {
    expect(
      issuesOf({
        do: [],
        use: {
          errors: { e: { type: 'x' } },
          retries: { r: { delay: 'x' } },
          timeouts: { t: { after: 'x' } },
          authentications: { a: { oauth2: {} } },
          functions: { f: { call: 'g' }, g: { call: 'f' }, http: { call: 'ask' }, ask: { set: { a: 1 } } },
        },
      }),
    ).toEqual([
      'ERR_DURATION /use/timeouts/t/after',
      'ERR_MISSING /use/errors/e/status',
      'ERR_DURATION /use/retries/r/delay',
      'ERR_UNSUPPORTED_AUTHENTICATION /use/authentications/a/oauth2',
      'ERR_FUNCTION_CYCLE /use/functions/f',
      'ERR_FUNCTION_CYCLE /use/functions/g',
      'ERR_RESERVED /use/functions/http',
      'ERR_RESERVED /use/functions/ask',
    ]);
  });

  it('a timeout of a workflow has no variables of a task, also when it is defined by its name', () => {
    const after = '${ $input.limit }';
    const inline = issuesOf({ do: [], timeout: { after } });
    const byName = issuesOf({
      do: [{ s: { set: { a: 1 }, timeout: 't' } }],
      use: { timeouts: { t: { after } } },
      timeout: 't',
    });
    expect(inline).toEqual(['ERR_EXPRESSION_VARIABLE /timeout/after']);
    expect(byName).toEqual(inline);
    expect(issuesOf({ do: [], timeout: { after: '${ .limit }' } })).toEqual([]);
  });

  it('that are not supported are rejected', () => {
    expect(
      issuesOf({ do: [], use: { catalogs: {}, extensions: [], secrets: [] }, schedule: { cron: '* * * * *' } }),
    ).toEqual([
      'ERR_UNSUPPORTED_SCHEDULE /schedule',
      'ERR_UNSUPPORTED_CATALOGS /use/catalogs',
      'ERR_UNSUPPORTED_EXTENSIONS /use/extensions',
      'ERR_UNSUPPORTED_SECRETS /use/secrets',
    ]);
    expect(issuesOf({ do: [], evaluate: { language: 'js', mode: 'loose' } })).toEqual([
      'ERR_UNSUPPORTED_LANGUAGE /evaluate/language',
      'ERR_UNSUPPORTED_MODE /evaluate/mode',
    ]);
    expect(issuesOf({ do: [], document: { ...document, dsl: '2.0.0' } })).toEqual([
      'ERR_UNSUPPORTED_DSL /document/dsl',
    ]);
    expect(issuesOf({ do: [], evaluate: { language: 'jq', mode: 'strict' } })).toEqual([]);
  });

  it('the check of a function sees the arguments of the call', () => {
    const functions = {
      only: (given: Json) =>
        JSON.stringify(given) === '{"a":"${ .x }"}' ? [] : [{ code: 'ERR_A', path: '/a', message: 'no' }],
    };
    expect(issuesOf({ do: [{ t: { call: 'only', with: { a: '${ .x }' } } }] }, functions)).toEqual([]);
    expect(issuesOf({ do: [{ t: { call: 'only' } }] }, functions)).toEqual(['ERR_A /do/0/t/with/a']);
  });
});

describe('an input', () => {
  it('is validated by the schema of the workflow, without being quoted', async () => {
    const schema = {
      type: 'object',
      required: ['role'],
      properties: { role: { enum: ['a'] }, until: { format: 'date-time' } },
    };
    const workflow = workflowOf({ input: { schema: { document: schema } }, do: [] });
    expect(await validateInput(workflow, { role: 'a', until: '2026-01-01T00:00:00Z' })).toEqual([]);
    const issues = await validateInput(workflow, { role: 'hunter2', until: 'soon' });
    expect(issues.map(({ code, path }) => `${code} ${path}`)).toEqual(['ERR_INPUT /role', 'ERR_INPUT /until']);
    expect(JSON.stringify(issues)).not.toContain('hunter2');
    expect(await validateInput(workflowOf({ do: [] }), 'anything')).toEqual([]);
    expect(await validateInput(workflowOf({ do: [] }), { a: ['\u0000'] })).toMatchObject([
      { code: 'ERR_INPUT', path: '' },
    ]);
  });
});
