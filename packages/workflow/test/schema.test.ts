import { describe, expect, it } from 'vitest';
import { compileSchemas, type Json, parseWorkflow, validateInput } from '../src/index.js';
import { anyFunction, execute, workflowOf } from './support/drive.js';

const document = { dsl: '1.0.3', namespace: 'test', name: 'test', version: '1.0.0' };
const withSchema = (schema: Json) =>
  workflowOf({ input: { schema: { document: schema } }, do: [{ a: { set: { n: 1 } } }] });

/** Returns a schema in which each level applies the next one several times to the same value. */
const levels = (count: number): Json => {
  const $defs: { [name: string]: Json } = { [`l${count}`]: { type: 'string' } };
  for (let level = 0; level < count; level += 1) {
    const next = { $ref: `#/$defs/l${level + 1}` };
    $defs[`l${level}`] = { allOf: [next, { anyOf: [next, next] }] };
  }
  return { $defs, $ref: '#/$defs/l0' };
};

/** Returns how often the event loop turned while `work` was awaited. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const beat = setInterval(() => {
    turns += 1;
  }, 1);
  await work();
  clearInterval(beat);
  return turns;
}

/** Returns whether `work` waits for another thread: work on this thread would end before the event loop turns. */
async function leavesTheThread(work: () => Promise<unknown>): Promise<boolean> {
  let isDone = false;
  const done = work().then(() => {
    isDone = true;
  });
  for (let hop = 0; hop < 1_000; hop += 1) await undefined;
  const left = !isDone;
  await done;
  return left;
}

const many = Array.from({ length: 5_000 }, (_, n) => n);

describe('a schema that can keep a processor busy', () => {
  const runHere = 'compares every item with every other';

  it.each<[string, Json, Json, RegExp]>([
    ['applies itself twice at each level', levels(40), 1, /takes too long/],
    [runHere, { uniqueItems: true }, Array.from({ length: 60_000 }, (_, n) => ({ n })), /takes too long/],
    [
      'refers to nothing but itself',
      { $defs: { a: { not: { $ref: '#/$defs/a' } } }, $ref: '#/$defs/a' },
      1,
      /too deep/,
    ],
    [
      'has large alternatives for many items',
      { items: { anyOf: Array.from({ length: 3_000 }, (_, n) => ({ enum: [{ n }, { m: n }] as Json[] })) } },
      Array.from({ length: 20_000 }, (_, n) => ({ x: n })),
      /takes too long/,
    ],
  ])('that %s, is stopped, and does not block the event loop', async (what, schema, value, why) => {
    const workflow = withSchema(schema);
    let issues: unknown[] = [];
    const turns = await turnsDuring(async () => {
      issues = await validateInput(workflow, value);
    });
    expect(issues).toEqual([{ code: 'ERR_INPUT', path: '', message: expect.stringMatching(why) }]);
    expect(turns).toBeGreaterThan(5);
    // A run takes the same code path for every schema, and as long again, so `npm test` runs only one.
    if (!process.env.CI && what !== runHere) return;
    const run = await execute(workflow, value);
    expect(run).toMatchObject({ status: 'faulted', fault: { status: 400, detail: expect.stringMatching(why) } });
  });

  it('still reports the differences of a value, where that is quick', async () => {
    const role = { anyOf: [{ const: 'reader' }, { const: 'writer' }] };
    const workflow = withSchema({
      type: 'object',
      properties: { role, names: { uniqueItems: true } },
      required: ['names'],
    });
    expect(await validateInput(workflow, { role: 'writer', names: ['a', 'b'] })).toEqual([]);
    expect((await validateInput(workflow, { role: 'hunter2' })).map(({ path }) => path)).toContain('/names');
    expect(await validateInput(workflow, { names: ['a', 'a'] })).toMatchObject([{ path: '/names' }]);
    expect(JSON.stringify(await validateInput(workflow, { role: 'hunter2' }))).not.toContain('hunter2');
  });

  it.each<[string, Json, RegExp]>([
    ['refers to what is not there', { anyOf: [{ $ref: '#/$defs/nothing' }] }, /resolve reference/],
    ['needs backtracking', { anyOf: [{ pattern: '^(?=x)' }] }, /lookahead/],
    [
      'is long, and refers to what is not there',
      { anyOf: [{ $ref: '#/$defs/nothing' }], enum: many },
      /resolve reference/,
    ],
    ['has a keyword of the wrong type', { not: { type: 5 } }, /type/],
  ])('is rejected at load when it %s', async (_what, schema, why) => {
    const source = { document, input: { schema: { document: schema } }, do: [] };
    const result = parseWorkflow(source, { functions: anyFunction });
    const issues = result.ok ? await compileSchemas(result.schemas) : result.issues;
    expect(issues).toEqual([
      { code: 'ERR_SCHEMA', path: '/input/schema/document', message: expect.stringMatching(why) },
    ]);
  });
});

describe('a schema is checked on the thread of the server', () => {
  const properties = { role: { enum: ['reader', 'writer'] }, ticket: { pattern: '^OPS-\\d{1,6}$' } };
  const value = { role: 'reader', ticket: 'OPS-1' };
  const leaves = (schema: Json, given: Json = value) => leavesTheThread(() => validateInput(withSchema(schema), given));

  it('where it is plain and the value small', async () => {
    expect(await leaves({ properties })).toBe(false);
  });

  it.each<[string, Json, Json?]>([
    ['the value is long', { properties }, { ...value, more: 'x'.repeat(6_000) }],
    ['a part of it names many values', { properties: { role: { enum: many.slice(0, 101) } } }],
    ['it has many parts', { properties: Object.fromEntries(many.slice(0, 201).map((n) => [`p${n}`, true])) }],
    ['a pattern is long', { properties: { ticket: { pattern: `^(${'a|'.repeat(100)}b)$` } } }],
    ['a pattern repeats often', { properties: { ticket: { pattern: '^[a-z]{1,500}$' } } }],
    [
      'each key meets several patterns',
      { patternProperties: Object.fromEntries(many.slice(0, 4).map((n) => [`^p${n}`, true])) },
    ],
    ['it compares items', { properties: { role: { uniqueItems: true } } }],
    ['it has alternatives', { anyOf: [{ properties }] }],
    ['it refers to a part of it', { $defs: { a: { properties } }, $ref: '#/$defs/a' }],
  ])('and elsewhere when %s', async (_when, schema, given) => {
    expect(await leaves(schema, given)).toBe(true);
  });

  it('at load, and elsewhere when it is long', async () => {
    const parse = (schema: Json) => {
      const result = parseWorkflow({ document, input: { schema: { document: schema } }, do: [] }, { functions: {} });
      return result.ok ? result.schemas : [];
    };
    expect(parse({ properties })).toEqual([]);
    const [long] = parse({ enum: many });
    expect(long).toMatchObject({ path: '/input/schema/document' });
    expect(await leavesTheThread(() => compileSchemas(long ? [long] : []))).toBe(true);
  });
});
