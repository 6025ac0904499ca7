import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { compileSchema } from '../src/document/json-schema.js';
import { compileExpressions } from '../src/expression/compile.js';

it('a schema is compiled once, regardless of the object that it is in', () => {
  const schema = { type: 'object', properties: { once: { type: 'string', maxLength: 17 } } };
  expect(compileSchema(structuredClone(schema))).toBe(compileSchema(schema));
  expect(compileSchema({ ...schema, type: 'array' })).not.toBe(compileSchema(schema));
});

it('a schema that is wrong is compiled once as well', () => {
  const errors = [1, 2].map(() => {
    try {
      return compileSchema({ type: 'no type of a schema' });
    } catch (error) {
      return error;
    }
  });
  expect(errors[0]).toBeInstanceOf(Error);
  expect(errors[1]).toBe(errors[0]);
});

it('an expression is compiled once, and one that is wrong each time', async () => {
  let threads = 0;
  const count = (_: Worker) => void (threads += 1);
  process.on('worker', count);
  try {
    const compile = (...programs: string[]) =>
      compileExpressions(programs.map((program, index) => ({ path: `/${index}`, program })));
    expect(await compile('.a | length', '.b + 40417')).toEqual([]);
    expect(threads).toBe(1);
    expect(await compile('.b + 40417', '.a | length', '.a | length')).toEqual([]);
    expect(threads).toBe(1);
    expect(await compile('.c |')).toHaveLength(1);
    expect(await compile('.c |')).toHaveLength(1);
    expect(threads).toBe(3);
  } finally {
    process.off('worker', count);
  }
});
